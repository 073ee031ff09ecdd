package events

// The change of primary.
var (
	// Bootstrapped: pod, why it was chosen.
	Bootstrapped = Event{typeNormal, "Bootstrapped", "Bootstrap", "%s is the first primary: %s"}
	// FailoverStarted: old primary, why.
	FailoverStarted = Event{typeWarning, "FailoverStarted", "Failover", "Replacing primary %s: %s"}
	// FailoverCompleted: old primary, new primary, duration since the failure was seen.
	FailoverCompleted = Event{typeNormal, "FailoverCompleted", "Failover", "%s was replaced by %s as primary in %s"}
	// FailoverBlocked: what it waits for, and what a person can do.
	FailoverBlocked = Event{typeWarning, "FailoverBlocked", "Failover", "No member can be promoted without the risk of losing confirmed writes: %s"}
	// HandOverStarted: old primary, new primary, why.
	HandOverStarted = Event{typeNormal, "HandOverStarted", "HandOver", "Moving the primary role from %s to %s: %s"}
	// HandOverCompleted: old primary, new primary, duration.
	HandOverCompleted = Event{typeNormal, "HandOverCompleted", "HandOver", "Moved the primary role from %s to %s in %s"}
	// HandOverFailed: primary that stays, the server's words.
	HandOverFailed = Event{typeWarning, "HandOverFailed", "HandOver", "%s stays primary, the hand-over failed: %s"}
	// OldPrimaryRejoined: pod, bytes that only it had.
	OldPrimaryRejoined = Event{typeNormal, "OldPrimaryRejoined", "Rejoin", "Former primary %s follows the new one; %d bytes of unconfirmed writes that only it had are discarded"}
)

// Members.
var (
	// MemberRestart: pod, the reasons.
	MemberRestart = Event{typeNormal, "MemberRestart", "Restart", "Restarting %s: %s"}
	// MemberStuck: pod, why.
	MemberStuck = Event{typeWarning, "MemberStuck", "Observe", "%s cannot come up: %s"}
	// MemberIsolated: pod.
	MemberIsolated = Event{typeWarning, "MemberIsolated", "Fence", "%s stopped its server, since it could reach neither the operator nor any other member"}
	// MemberKilled: pod, why.
	MemberKilled = Event{typeWarning, "MemberKilled", "Fence", "Told the agent of %s to kill its server: %s"}
	// DivergentData: what holds what, and what a person can do.
	DivergentData = Event{typeWarning, "DivergentData", "Observe", "Members hold data of different origin, and the operator does not choose: %s"}
	// ApprovalNeeded: primary, annotation, generation.
	ApprovalNeeded = Event{typeNormal, "ApprovalNeeded", "Restart", "The restart of primary %s waits for approval: annotate the cluster with %s=%d"}
)

// Size.
var (
	// ScaledOut: members before, members now.
	ScaledOut = Event{typeNormal, "ScaledOut", "Scale", "Scaled out from %d to %d members"}
	// ScaledIn: members before, members now.
	ScaledIn = Event{typeNormal, "ScaledIn", "Scale", "Scaled in from %d to %d members"}
)

// Configuration and credentials.
var (
	// ConfigRejected: what the server or the check said.
	ConfigRejected = Event{typeWarning, "ConfigRejected", "Configure", "The configuration was refused and is not in effect: %s"}
	// PasswordChanged: grace period.
	PasswordChanged = Event{typeNormal, "PasswordChanged", "ChangePassword", "Every member accepts the new password; the previous one stays valid for %s"}
	// OldPasswordRetired takes no argument.
	OldPasswordRetired = Event{typeNormal, "OldPasswordRetired", "ChangePassword", "The previous password is no longer accepted"}
	// SecretInvalid: Secret, what is wrong with it.
	SecretInvalid = Event{typeWarning, "SecretInvalid", "ReadSecret", "Secret %s cannot be used, the last password stays valid: %s"}
	// CertificatesRenewed: what was renewed.
	CertificatesRenewed = Event{typeNormal, "CertificatesRenewed", "RenewCertificates", "Renewed the certificates of the agents: %s"}
)

// Objects.
var (
	// NameConflict: kind, name.
	NameConflict = Event{typeWarning, "NameConflict", "Apply", "%s %s exists and does not belong to this cluster: remove or rename it, or choose another name for the cluster"}
	// RepairedObject: kind, name.
	RepairedObject = Event{typeNormal, "RepairedObject", "Apply", "%s %s had been changed or deleted by somebody else and was put back"}
)

// All returns the catalogue, for tests and documentation.
func All() []Event {
	return []Event{
		Bootstrapped, FailoverStarted, FailoverCompleted, FailoverBlocked, HandOverStarted, HandOverCompleted, HandOverFailed, OldPrimaryRejoined,
		MemberRestart, MemberStuck, MemberIsolated, MemberKilled, DivergentData, ApprovalNeeded,
		ScaledOut, ScaledIn,
		ConfigRejected, PasswordChanged, OldPasswordRetired, SecretInvalid, CertificatesRenewed,
		NameConflict, RepairedObject,
	}
}
