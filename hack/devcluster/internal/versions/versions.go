package versions

// Parts that are built from Go modules.
const (
	Kubernetes = "1.37.2"
	// KubernetesStaging is the version under which the staging modules of
	// Kubernetes (k8s.io/api and so on) are published.
	KubernetesStaging = "0.37.2"
	Etcd              = "3.7.3"
	Containerd        = "2.4.2"
	Runc              = "1.5.3"
	CNIPlugins        = "1.10.0"
	CoreDNS           = "1.15.0"
)

// DebianSuite is where the database servers of the images come from. It moves:
// the versions that were found become the tags of the images.
const DebianSuite = "sid"

// Images is raised when the recipe of the images changes, so that cached ones
// are made anew.
const Images = "2"
