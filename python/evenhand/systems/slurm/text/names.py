"""Names of parameters that slurm.conf has, to find misspelt ones among those that do not matter."""

from __future__ import annotations

from typing import Final

__all__ = ["CLUSTER", "LINES", "OLD", "PARTITION", "SHOWN"]

_CLUSTER = """
    AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost
    AccountingStorageHost AccountingStorageParameters AccountingStoragePass AccountingStoragePort
    AccountingStorageTRES AccountingStorageType AccountingStorageUser AccountingStoreFlags
    AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInterconnectType AcctGatherNodeFreq
    AcctGatherProfileType AllowSpecResourcesUsage AuthAltParameters AuthAltTypes AuthInfo AuthType
    BatchStartTimeout BcastExclude BcastParameters BurstBufferType CertgenParameters CertgenType
    CertmgrParameters CertmgrType CliFilterParameters CliFilterPlugins ClusterName CommunicationParameters
    CompleteWait ControlAddr ControlMachine CoreSpecPlugin CpuFreqDef CpuFreqGovernors CredType
    DataParserParameters DebugFlags DefCpuPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode
    DependencyParameters DisableRootJobs EioTimeout EnforcePartLimits Epilog EpilogMsgTime EpilogSlurmctld
    EpilogTimeout ExtSensorsFreq ExtSensorsType FairShareDampeningFactor FederationParameters FirstJobId
    GetEnvTimeout GpuFreqDef GresTypes GroupUpdateForce GroupUpdateTime HashPlugin HealthCheckInterval
    HealthCheckNodeState HealthCheckProgram HealthCheckTimeout HttpParserType InactiveLimit
    InteractiveStepOptions JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType JobCompHost
    JobCompLoc JobCompParams JobCompPass JobCompPassScript JobCompPort JobCompType JobCompUser
    JobContainerType JobFileAppend JobRequeue JobSubmitPlugins KillOnBadExit KillWait LaunchParameters
    LaunchType LicenseParameters Licenses LogTimeFormat MailDomain MailProg MaxArraySize MaxBatchRequeue
    MaxDBDMsgs MaxJobCount MaxJobId MaxMemPerCPU MaxMemPerNode MaxNodeCount MaxStepCount MaxTasksPerNode
    MCSParameters MCSPlugin MessageTimeout MetricsAuthUsers MetricsParameters MetricsType MinJobAge
    MpiDefault MpiParams NamespaceType NodeFeaturesPlugins OverTimeLimit PluginDir PlugStackConfig
    PowerAction PowerParameters PowerPlugin PreemptExemptTime PreemptMode PreemptParameters PreemptType
    PrEpParameters PrEpPlugins PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall PriorityFlags
    PriorityMaxAge PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType
    PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare
    PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES PrivateData
    ProctrackType Prolog PrologEpilogTimeout PrologFlags PrologSlurmctld PrologTimeout
    PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram ReconfigFlags
    RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout ResvEpilog
    ResvOverRun ResvProlog ReturnToService RoutePlugin SackdParameters SbcastParameters
    SchedulerParameters SchedulerTimeSlice SchedulerType ScronParameters SelectType SelectTypeParameters
    SlurmctldAddr SlurmctldDebug SlurmctldHost SlurmctldHttpAuthParameters SlurmctldLogFile
    SlurmctldParameters SlurmctldPidFile SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg
    SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdHttpAuthParameters SlurmdLogFile
    SlurmdParameters SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser
    SlurmSchedLogFile SlurmSchedLogLevel SlurmUser SrunEpilog SrunPortRange SrunProlog StateSaveLocation
    SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendRate SuspendTime SuspendTimeout
    SwitchParameters SwitchType TaskEpilog TaskPlugin TaskPluginParam TaskProlog TCPTimeout TLSParameters
    TLSType TmpFS TopologyParam TopologyPlugin TrackWCKey TreeWidth UnkillableStepProgram
    UnkillableStepTimeout UrlParserType UsePAM VSizeFactor WaitTime X11Parameters
"""

_PARTITION = """
    AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind Default DefaultTime DefCpuPerGPU
    DefMemPerCPU DefMemPerGPU DefMemPerNode DenyAccounts DenyQos DisableRootJobs Exclusive ExclusiveTopo
    ExclusiveUser GraceTime Hidden JobDefaults LLN MaxCPUsPerNode MaxCPUsPerSocket MaxMemPerCPU
    MaxMemPerNode MaxNodes MaxTime MinNodes Nodes OverSubscribe OverTimeLimit PowerDownOnIdle PreemptMode
    Priority PriorityJobFactor PriorityTier QOS ReqResv ResumeTimeout RootOnly SelectTypeParameters Shared
    State SuspendTime SuspendTimeout Topology TRESBillingWeights
"""

_OLD = """
    AccountingStorageLoc AccountingStoreJobComment AcctGatherInfinibandType AllowUsers BackupAddr
    BackupController BurstBufferParameters CacheGroups CheckpointType CryptoType DefaultStorageHost
    DefaultStorageLoc DefaultStoragePass DefaultStoragePort DefaultStorageType DefaultStorageUser
    FastSchedule JobCheckpointDir JobCredentialPrivateKey JobCredentialPublicCertificate KeepAliveTime
    Layouts LayoutsType MemLimitEnforce MsgAggregationParams SallocDefaultCommand SchedulerAuth
    SchedulerPort SchedulerRootFilter SlurmctldPlugstack SlurmdPlugstack
"""

#: Parameters of the cluster as a whole. Source: slurm.conf, manual page (22.05 to 26.05).
CLUSTER: Final = frozenset(_CLUSTER.split())

#: Parameters of releases before 22.05, of which none has to do with preemption.
OLD: Final = frozenset(_OLD.split())

#: Words that begin a line of another kind.
LINES: Final = frozenset({"DownNodes", "FrontendName", "NodeName", "NodeSet", "PartitionName"})

#: Parameters of a partition in slurm.conf.
PARTITION: Final = frozenset(_PARTITION.split())

#: What ``scontrol show partition`` prints: these, and totals.
SHOWN: Final = PARTITION | {"NodeSets", "TRES", "TotalCPUs", "TotalNodes"}
