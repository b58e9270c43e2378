"""Names of parameters that slurm.conf has, to find misspelt ones among those that do not matter."""

from __future__ import annotations

from typing import Final

__all__ = ["CLUSTER", "LINES", "PARTITION", "SHOWN"]

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
    HealthCheckNodeState HealthCheckProgram HttpParserType InactiveLimit InteractiveStepOptions
    JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType JobCompHost JobCompLoc JobCompParams
    JobCompPass JobCompPassScript JobCompPort JobCompType JobCompUser JobContainerType JobFileAppend
    JobRequeue JobSubmitPlugins KillOnBadExit KillWait LaunchParameters LaunchType Licenses LogTimeFormat
    MCSParameters MCSPlugin MailDomain MailProg MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount
    MaxJobId MaxMemPerCPU MaxMemPerNode MaxNodeCount MaxStepCount MaxTasksPerNode MessageTimeout
    MetricsType MinJobAge MpiDefault MpiParams NamespaceType NodeFeaturesPlugins OverTimeLimit
    PlugStackConfig PluginDir PowerParameters PowerPlugin PrEpParameters PrEpPlugins PreemptExemptTime
    PreemptMode PreemptParameters PreemptType PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall
    PriorityFlags PriorityMaxAge PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin
    PriorityType PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare
    PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES PrivateData
    ProctrackType Prolog PrologEpilogTimeout PrologFlags PrologSlurmctld PrologTimeout
    PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram ReconfigFlags
    RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout ResvEpilog
    ResvOverRun ResvProlog ReturnToService RoutePlugin SackdParameters SbcastParameters
    SchedulerParameters SchedulerTimeSlice SchedulerType ScronParameters SelectType SelectTypeParameters
    SlurmSchedLogFile SlurmSchedLogLevel SlurmUser SlurmctldAddr SlurmctldDebug SlurmctldHost
    SlurmctldLogFile SlurmctldParameters SlurmctldPidFile SlurmctldPort SlurmctldPrimaryOffProg
    SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdLogFile
    SlurmdParameters SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser
    SrunEpilog SrunPortRange SrunProlog StateSaveLocation SuspendExcNodes SuspendExcParts SuspendExcStates
    SuspendProgram SuspendRate SuspendTime SuspendTimeout SwitchParameters SwitchType TCPTimeout
    TLSParameters TLSType TaskEpilog TaskPlugin TaskPluginParam TaskProlog TmpFS TopologyParam
    TopologyPlugin TrackWCKey TreeWidth UnkillableStepProgram UnkillableStepTimeout UrlParserType UsePAM
    VSizeFactor WaitTime X11Parameters
"""

_PARTITION = """
    AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind DefCpuPerGPU DefMemPerCPU DefMemPerGPU
    DefMemPerNode Default DefaultTime DenyAccounts DenyQos DisableRootJobs ExclusiveTopo ExclusiveUser
    GraceTime Hidden JobDefaults LLN MaxCPUsPerNode MaxCPUsPerSocket MaxMemPerCPU MaxMemPerNode MaxNodes
    MaxTime MinNodes Nodes OverSubscribe OverTimeLimit PowerDownOnIdle PreemptMode Priority
    PriorityJobFactor PriorityTier QOS ReqResv ResumeTimeout RootOnly SelectTypeParameters Shared State
    SuspendTime SuspendTimeout TRESBillingWeights Topology
"""

#: Parameters of the cluster as a whole. Source: slurm.conf, manual page (22.05 to 25.05).
CLUSTER: Final = frozenset(_CLUSTER.split())

#: Words that begin a line of another kind.
LINES: Final = frozenset({"DownNodes", "FrontendName", "NodeName", "NodeSet", "PartitionName"})

#: Parameters of a partition in slurm.conf.
PARTITION: Final = frozenset(_PARTITION.split())

#: What ``scontrol show partition`` prints: these, and totals.
SHOWN: Final = PARTITION | {"NodeSets", "TRES", "TotalCPUs", "TotalNodes"}
