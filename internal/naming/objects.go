package naming

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxClusterName is the longest name that a cluster may have. The API refuses longer ones, so
// that everything added here stays within the 63 characters of a DNS label.
const MaxClusterName = 40

// StatefulSet of the members.
func StatefulSet(cluster string) string { return cluster }

// Pod of the member with this ordinal.
func Pod(cluster string, ordinal int) string { return cluster + "-" + strconv.Itoa(ordinal) }

// Ordinal of a pod of this cluster.
func Ordinal(cluster, pod string) (int, error) {
	digits, ok := strings.CutPrefix(pod, cluster+"-")
	if !ok {
		return 0, fmt.Errorf("pod %s does not belong to cluster %s", pod, cluster)
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || strconv.Itoa(n) != digits {
		return 0, fmt.Errorf("pod %s does not belong to cluster %s", pod, cluster)
	}
	return n, nil
}

// VolumeClaim of the data volume of the member with this ordinal.
func VolumeClaim(cluster string, ordinal int) string {
	return VolumeData + "-" + Pod(cluster, ordinal)
}

// HeadlessService gives each pod a name, ready or not.
func HeadlessService(cluster string) string { return cluster }

// PrimaryService leads to the member that takes writes.
func PrimaryService(cluster string) string { return cluster + "-primary" }

// ReplicaService leads to the replicas that are in step.
func ReplicaService(cluster string) string { return cluster + "-replicas" }

// AuthSecret holds the generated password of the application user, unless the spec names another.
func AuthSecret(cluster string) string { return cluster + "-auth" }

// InternalSecret holds what the operator keeps for itself: password digests and the replication password.
func InternalSecret(cluster string) string { return cluster + "-internal" }

// CASecret holds the cluster's certificate authority. It is never mounted.
func CASecret(cluster string) string { return cluster + "-ca" }

// AgentTLSSecret holds the certificate that the agents of the cluster share.
func AgentTLSSecret(cluster string) string { return cluster + "-agent-tls" }

// PodDisruptionBudget of the members.
func PodDisruptionBudget(cluster string) string { return cluster }

// NetworkPolicy of the members.
func NetworkPolicy(cluster string) string { return cluster }

// AgentServerName is the DNS name in the certificate of a cluster's agents. It is resolved
// nowhere: it only ties a certificate to a cluster and its namespace.
func AgentServerName(namespace, cluster string) string {
	return cluster + "." + namespace + ".agents.holdfast"
}
