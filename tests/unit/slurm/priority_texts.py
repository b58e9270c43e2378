"""What a slurmctld 22.05.8 with priority/multifactor and a slurmdbd printed, with 12 jobs waiting."""

from __future__ import annotations

__all__ = ["ASSOCIATIONS", "CONF", "FACTORS", "JOBS", "PRIORITIES", "SHARES"]

#: Its configuration, as far as it matters.
CONF = """\
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=2000
PriorityWeightPartition=3000
PriorityWeightQOS=4000
PriorityWeightAssoc=500
PriorityWeightTRES=CPU=700,Mem=300
PriorityMaxAge=00:10:00
PriorityCalcPeriod=1
PriorityDecayHalfLife=1-0
NodeName=n[1-4] CPUs=8 RealMemory=4000 State=UNKNOWN
PartitionName=low Nodes=n[1-4] Default=YES PriorityTier=1 PriorityJobFactor=10 TRESBillingWeights=CPU=100.0
PartitionName=high Nodes=n[1-2] Default=NO PriorityTier=10 PriorityJobFactor=40
"""

#: ``sshare -a -P -l -m``, without its last two columns.
SHARES = """\
Account|User|Partition|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS
root||||0.000000|216795||1.000000||
 root|root||1|0.007092|169527|0.781972|0.781972|0.071429|0.009070
 industry|||60|0.425532|13504|0.062294|0.062294||6.831055
  industry|mail||2|0.400000|0|0.000000|0.000000|0.714286|inf
  industry|news||1|0.200000|6752|0.031147|0.500000|0.571429|0.400000
  solo|||parent|0.425532|6752|0.031147|0.500000||
   solo|backup||1|0.200000|0|0.000000|0.000000|0.714286|inf
   solo|proxy||1|0.200000|6752|0.031147|0.500000|0.571429|0.400000
 labs|||40|0.283688|33762|0.155734|0.155734||1.821615
  chem|||10|0.250000|13504|0.062294|0.400000||0.625000
   chem|games||parent|0.250000|3376|0.015573|0.250000|0.214286|
   chem|lp||1|1.000000|10128|0.046720|0.750000|0.142857|1.333333
  phys|||30|0.750000|20257|0.093441|0.600000||1.250000
   phys|games||3|0.333333|13504|0.062294|0.666667|0.357143|0.500000
   phys|list|high|5|0.555556|0|0.000000|0.000000|0.428571|inf
   phys|man||1|0.111111|6752|0.031147|0.333333|0.285714|0.333333
 tie1|||20|0.141844|0|0.000000|0.000000||inf
  tie1|sync||0|0.000000|0|0.000000|0.000000|0.928571|0.000000
  tie1|sys||3|1.000000|0|0.000000|0.000000|1.000000|inf
 tie2|||20|0.141844|0|0.000000|0.000000||inf
  tie2|irc||0|0.000000|0|0.000000|0.000000|0.785714|0.000000
  tie2|uucp||3|1.000000|0|0.000000|0.000000|0.928571|inf
"""

#: ``sacctmgr show assoc -P``, its first six columns.
ASSOCIATIONS = """\
Cluster|Account|User|Partition|Share|Priority
emu|root|||1|
emu|root|root||1|
emu|industry|||60|
emu|industry|mail||2|
emu|industry|news||1|
emu|solo|||parent|
emu|solo|backup||1|
emu|solo|proxy||1|
emu|labs|||40|
emu|chem|||10|
emu|chem|games||parent|
emu|chem|lp||1|
emu|phys|||30|7
emu|phys|games||3|7
emu|phys|list|high|5|7
emu|phys|man||1|7
emu|tie1|||20|
emu|tie1|sync||0|
emu|tie1|sys||3|
emu|tie2|||20|
emu|tie2|irc||0|
emu|tie2|uucp||3|
"""

#: ``scontrol -o show job``, some of its fields.
JOBS = """\
JobId=13 UserId=games(5) Account=phys QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=2-2 NumCPUs=4 TRES=cpu=4,mem=100M,node=2,billing=400
JobId=14 UserId=games(5) Account=chem QOS=gold Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=1 NumCPUs=1 TRES=cpu=1,mem=700M,node=1,billing=100
JobId=15 UserId=man(6) Account=phys QOS=normal Nice=300 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=1 NumCPUs=7 TRES=cpu=7,mem=3000M,node=1,billing=700
JobId=16 UserId=list(38) Account=phys QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=high NumNodes=1 NumCPUs=3 TRES=cpu=3,mem=10M,node=1,billing=3
JobId=17 UserId=mail(8) Account=industry QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=3-3 NumCPUs=3 TRES=cpu=3,mem=1500M,node=3,billing=300
JobId=18 UserId=news(9) Account=industry QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=1 NumCPUs=2 TRES=cpu=2,mem=1M,node=1,billing=200
JobId=19 UserId=proxy(13) Account=solo QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=4-4 NumCPUs=32 TRES=cpu=32,mem=3200M,node=4,billing=3200
JobId=20 UserId=lp(7) Account=chem QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=1 NumCPUs=4 TRES=cpu=4,mem=80M,node=1,billing=400
JobId=21 UserId=games(5) Account=phys QOS=silver Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=1 NumCPUs=1 TRES=cpu=1,mem=1M,node=1,billing=100
JobId=22 UserId=sys(3) Account=tie1 QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=1 NumCPUs=1 TRES=cpu=1,mem=1M,node=1,billing=100
JobId=23 UserId=uucp(10) Account=tie2 QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=1 NumCPUs=1 TRES=cpu=1,mem=1M,node=1,billing=100
JobId=24 UserId=irc(39) Account=tie2 QOS=normal Nice=0 SubmitTime=2026-11-21T20:00:30 AccrueTime=2026-11-21T20:00:30 Partition=low NumNodes=1 NumCPUs=1 TRES=cpu=1,mem=1M,node=1,billing=100
"""  # noqa: E501

#: ``sprio -h -n -o "%i|%a|%b|%f|%j|%p|%q"``.
FACTORS = """\
13|0.0816667|1.0000000|0.3571429|0.3125000|0.2500000|0.0000000
14|0.0816667|0.0000000|0.2142857|0.1406250|0.2500000|1.0000000
15|0.0816667|1.0000000|0.2857143|0.2343750|0.2500000|0.0000000
16|0.0816667|1.0000000|0.4285714|0.1718750|1.0000000|0.0000000
17|0.0816667|0.0000000|0.7142857|0.4218750|0.2500000|0.0000000
18|0.0816667|0.0000000|0.5714286|0.1562500|0.2500000|0.0000000
19|0.0816667|0.0000000|0.5714286|1.0000000|0.2500000|0.0000000
20|0.0816667|0.0000000|0.1428571|0.1875000|0.2500000|0.0000000
21|0.0816667|1.0000000|0.3571429|0.1406250|0.2500000|0.5000000
22|0.0816667|0.0000000|1.0000000|0.1406250|0.2500000|0.0000000
23|0.0816667|0.0000000|0.9285714|0.1406250|0.2500000|0.0000000
24|0.0816667|0.0000000|0.7857143|0.1406250|0.2500000|0.0000000
"""

#: ``sprio -h -o "%i|%Y"``.
PRIORITIES = """\
13|5617
14|7290
15|4566
16|8342
17|8912
18|6902
19|9305
20|2724
21|7206
22|11134
23|10420
24|8991
"""
