package v1

// Condition types. Every cluster shows all of them from the first visit on; each carries the
// generation of the spec that it speaks of.
const (
	// ConditionAvailable: clients can write through the primary Service.
	ConditionAvailable = "Available"
	// ConditionProgressing: the operator is working towards the spec.
	ConditionProgressing = "Progressing"
	// ConditionDegraded: something needs attention, or redundancy is lost.
	ConditionDegraded = "Degraded"
	// ConditionUpToDate: every member runs the spec's image, configuration and resources.
	ConditionUpToDate = "UpToDate"
	// ConditionPaused: spec.paused stops the operator from doing anything for this cluster.
	ConditionPaused = "Paused"
)

// Reasons of Available.
const (
	// ReasonPrimaryServing: the primary serves in the current epoch and the Service leads to it.
	ReasonPrimaryServing = "PrimaryServing"
	// ReasonNoPrimary: no member is primary in the current epoch.
	ReasonNoPrimary = "NoPrimary"
	// ReasonPrimaryUnknown: the operator cannot reach the primary, but nothing says that it is down.
	ReasonPrimaryUnknown = "PrimaryUnknown"
	// ReasonTooFewReplicas: the primary refuses writes until enough replicas are attached.
	ReasonTooFewReplicas = "TooFewReplicas"
	// ReasonCreating: the members have not all started for the first time.
	ReasonCreating = "Creating"
)

// Reasons of Progressing.
const (
	// ReasonBootstrapping: the first primary is being chosen.
	ReasonBootstrapping = "Bootstrapping"
	// ReasonFailingOver: the primary is being replaced after a failure.
	ReasonFailingOver = "FailingOver"
	// ReasonHandingOver: the primary's role is being moved before a planned stop.
	ReasonHandingOver = "HandingOver"
	// ReasonScaling: members are being added or removed.
	ReasonScaling = "Scaling"
	// ReasonRollingUpdate: members are being restarted one by one.
	ReasonRollingUpdate = "RollingUpdate"
	// ReasonReplicasJoining: replicas are starting or synchronising.
	ReasonReplicasJoining = "ReplicasJoining"
	// ReasonConfiguring: configuration or credentials are being applied live.
	ReasonConfiguring = "Configuring"
	// ReasonSettled: nothing is left to do.
	ReasonSettled = "Settled"
)

// Reasons of Degraded.
const (
	// ReasonHealthy: every member serves in its role.
	ReasonHealthy = "Healthy"
	// ReasonMemberDown: a member does not serve.
	ReasonMemberDown = "MemberDown"
	// ReasonMemberUnreachable: the operator cannot reach a member.
	ReasonMemberUnreachable = "MemberUnreachable"
	// ReasonFailoverBlocked: a failover waits for members that may hold confirmed writes.
	ReasonFailoverBlocked = "FailoverBlocked"
	// ReasonDivergentData: members hold data of different origin and the operator does not choose.
	ReasonDivergentData = "DivergentData"
	// ReasonConfigRejected: the server refused a configuration parameter.
	ReasonConfigRejected = "ConfigRejected"
	// ReasonSecretInvalid: the Secret named by spec.auth is missing or has no usable password.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonPodStuck: a pod cannot be scheduled or started.
	ReasonPodStuck = "PodStuck"
	// ReasonNameConflict: an object that the cluster needs exists and belongs to somebody else.
	ReasonNameConflict = "NameConflict"
)

// Reasons of UpToDate.
const (
	// ReasonCurrent: every member runs what the spec asks for.
	ReasonCurrent = "Current"
	// ReasonOutdated: members wait for their restart; the message gives the reasons.
	ReasonOutdated = "Outdated"
	// ReasonApprovalNeeded: the primary waits for a person's approval.
	ReasonApprovalNeeded = "ApprovalNeeded"
)

// Reasons of Paused.
const (
	// ReasonPaused: spec.paused is true.
	ReasonPaused = "Paused"
	// ReasonActive: spec.paused is false.
	ReasonActive = "Active"
)
