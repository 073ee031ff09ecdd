package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

// gracePeriodSeconds covers the relief of a primary (20 s), an orderly shutdown (30 s) and some room.
const gracePeriodSeconds int64 = 60

// installer copies the agent into the pod, so that any stock image runs unchanged.
func installer(image string) corev1.Container {
	// Requests equal limits, so that a pod whose user asks for guaranteed resources gets them.
	small := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("64Mi"),
	}
	return corev1.Container{
		Name:            naming.ContainerAgentInstall,
		Image:           image,
		Command:         []string{naming.PathAgentInImage, "install", naming.PathBinDir},
		Resources:       corev1.ResourceRequirements{Requests: small, Limits: small.DeepCopy()},
		SecurityContext: desired.ContainerSecurity(),
		VolumeMounts:    []corev1.VolumeMount{{Name: naming.VolumeBinaries, MountPath: naming.PathBinDir}},
	}
}

func server(c *v1.RedisCluster, image string) corev1.Container {
	return corev1.Container{
		Name:            naming.ContainerRedis,
		Image:           image,
		Command:         agentCommand(c),
		Env:             downwardEnv(),
		Ports:           containerPorts(),
		Resources:       *c.Spec.Resources.DeepCopy(),
		LivenessProbe:   livenessProbe(),
		ReadinessProbe:  readinessProbe(),
		SecurityContext: desired.ContainerSecurity(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: naming.VolumeData, MountPath: naming.PathDataDir},
			{Name: naming.VolumeBinaries, MountPath: naming.PathBinDir, ReadOnly: true},
			{Name: naming.VolumeRun, MountPath: naming.PathRunDir},
			{Name: naming.VolumeAgentTLS, MountPath: naming.PathTLSDir, ReadOnly: true},
		},
	}
}

// agentCommand names the cluster by its UID: an agent never obeys the manager of another cluster,
// not even one of the same name made later.
func agentCommand(c *v1.RedisCluster) []string {
	return []string{
		naming.PathAgent, "run",
		// One kind of server to the agent; which of the two it starts travels with its first assignment.
		"--engine=redis",
		"--cluster=" + string(c.UID),
		"--server-name=" + naming.AgentServerName(c.Namespace, c.Name),
		"--pod=$(POD_NAME)",
		"--pod-uid=$(POD_UID)",
		"--data-dir=" + naming.PathDataDir,
		"--run-dir=" + naming.PathRunDir,
		"--tls-dir=" + naming.PathTLSDir,
	}
}

func downwardEnv() []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
		}}
	}
	return []corev1.EnvVar{
		field("POD_NAME", "metadata.name"),
		field("POD_UID", "metadata.uid"),
	}
}

func containerPorts() []corev1.ContainerPort {
	return []corev1.ContainerPort{
		{Name: naming.PortNameRedis, ContainerPort: naming.RedisPort, Protocol: corev1.ProtocolTCP},
		{Name: naming.PortNameAgent, ContainerPort: naming.AgentPort, Protocol: corev1.ProtocolTCP},
		{Name: naming.PortNameProbe, ContainerPort: naming.ProbePort, Protocol: corev1.ProtocolTCP},
	}
}

// livenessProbe asks whether the agent's own loop runs. It never looks at the server or at other members: a
// probe that kills on those kills the last copy of the data.
func livenessProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     probe(naming.PathLive),
		PeriodSeconds:    10,
		TimeoutSeconds:   5,
		FailureThreshold: 6,
		SuccessThreshold: 1,
	}
}

// readinessProbe asks whether the member serves in its role. Nothing is routed by it: it is for
// people, for the PodDisruptionBudget and for tools that wait.
func readinessProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     probe(naming.PathReady),
		PeriodSeconds:    1,
		TimeoutSeconds:   2,
		FailureThreshold: 2,
		SuccessThreshold: 1,
	}
}

func probe(path string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: path, Port: intstr.FromString(naming.PortNameProbe), Scheme: corev1.URISchemeHTTP,
	}}
}

func volumes(c *v1.RedisCluster) []corev1.Volume {
	// The key of the certificate is for the pod's group only.
	mode := int32(0o440)
	runLimit, binLimit := resource.MustParse("16Mi"), resource.MustParse("128Mi")
	out := []corev1.Volume{
		{Name: naming.VolumeBinaries, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &binLimit}}},
		// In memory, since it holds digests of passwords and the replication password.
		{Name: naming.VolumeRun, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: &runLimit,
		}}},
		{Name: naming.VolumeAgentTLS, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: naming.AgentTLSSecret(c.Name), DefaultMode: &mode,
		}}},
	}
	if c.Spec.Storage.Ephemeral {
		out = append(out, corev1.Volume{Name: naming.VolumeData, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	return out
}
