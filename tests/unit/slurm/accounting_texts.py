"""What sshare and sacctmgr of Slurm 22.05.8 printed, with a slurmdbd behind them."""

from __future__ import annotations

__all__ = ["ASSOCIATIONS", "QOS", "SHARES"]

#: ``sshare -a -P -l -m``, without its last two columns (no limits were set).
SHARES = """\
Account|User|Partition|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS
root||||0.000000|47564||1.000000||
 root|root||1|0.009901|0|0.000000|0.000000|1.000000|inf
 industry|||60|0.594059|13589|0.285714|0.285714||2.079208
  industry|mail||2|0.400000|0|0.000000|0.000000|0.900000|inf
  industry|news||1|0.200000|6794|0.142857|0.500000|0.700000|0.400000
  solo|||parent|0.594059|6794|0.142857|0.500000||
   solo|backup||1|0.200000|0|0.000000|0.000000|0.900000|inf
   solo|proxy||1|0.200000|6794|0.142857|0.500000|0.700000|0.400000
 labs|||40|0.396040|33974|0.714286|0.714286||0.554455
  chem|||10|0.250000|13589|0.285714|0.400000||0.625000
   chem|games||parent|0.250000|3397|0.071429|0.250000|0.200000|
   chem|lp||1|1.000000|10192|0.214286|0.750000|0.100000|1.333333
  phys|||30|0.750000|20384|0.428571|0.600000||1.250000
   phys|games||3|0.333333|13589|0.285714|0.666667|0.400000|0.500000
   phys|list|high|5|0.555556|0|0.000000|0.000000|0.500000|inf
   phys|man||1|0.111111|6794|0.142857|0.333333|0.300000|0.333333
"""

#: ``sacctmgr show qos -P``.
QOS = """\
Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|GrpTRESMins|GrpTRESRunMins|GrpJobs|GrpSubmit|GrpWall|MaxTRES|MaxTRESPerNode|MaxTRESMins|MaxWall|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MaxTRESPA|MaxJobsPA|MaxSubmitPA|MinTRES
normal|0|00:00:00|||cluster|||1.000000|||||||||||||||||
gold|100|00:00:05|normal||requeue|||1.000000|||||||||||||||||
silver|50|00:00:00|normal|00:01:00|cluster|NoDecay||1.000000|||||||||||||||||
"""

#: ``sacctmgr show assoc -P``.
ASSOCIATIONS = """\
Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|GrpSubmit|GrpWall|GrpTRESMins|MaxJobs|MaxTRES|MaxTRESPerNode|MaxSubmit|MaxWall|MaxTRESMins|QOS|Def QOS|GrpTRESRunMins
emu|root|||1|||||||||||||normal||
emu|root|root||1|||||||||||||normal||
emu|industry|||60|||||||||||||normal||
emu|industry|mail||2|||||||||||||normal||
emu|industry|news||1|||||||||||||normal||
emu|solo|||parent|||||||||||||normal||
emu|solo|backup||1|||||||||||||normal||
emu|solo|proxy||1|||||||||||||normal||
emu|labs|||40|||||||||||||normal||
emu|chem|||10|||||||||||||normal||
emu|chem|games||parent|||||||||||||gold,normal,silver||
emu|chem|lp||1|||||||||||||normal||
emu|phys|||30|7||||||||||||normal||
emu|phys|games||3|7||||||||||||gold,normal,silver||
emu|phys|list|high|5|7||||||||||||normal||
emu|phys|man||1|7||||||||||||normal||
"""  # noqa: E501
