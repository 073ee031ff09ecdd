package naming

// Ports.
const (
	// RedisPort serves clients and replicas.
	RedisPort int32 = 6379
	// AgentPort serves the manager and the other agents, over mutual TLS.
	AgentPort int32 = 8443
	// ProbePort serves the kubelet's probes and the metrics.
	ProbePort int32 = 8080
)

// Names of ports in pods and Services.
const (
	PortNameRedis = "redis"
	PortNameAgent = "agent"
	PortNameProbe = "probe"
)

// Containers of a member's pod.
const (
	// ContainerAgentInstall is the init container that puts the agent into the pod.
	ContainerAgentInstall = "agent"
	// ContainerRedis runs the agent, which runs the server.
	ContainerRedis = "redis"
)

// Volumes of a member's pod.
const (
	VolumeData     = "data"
	VolumeBinaries = "bin"
	VolumeRun      = "run"
	VolumeAgentTLS = "agent-tls"
)

// Paths in a member's pod.
const (
	// PathDataDir holds the database's files, and the agent's in PathAgentState.
	PathDataDir = "/data"
	// PathAgentState is a directory of the data volume that belongs to the agent.
	PathAgentState = PathDataDir + "/.holdfast"
	// PathBinDir is where the init container puts the agent.
	PathBinDir = "/holdfast/bin"
	// PathAgent is the agent in a member's container.
	PathAgent = PathBinDir + "/agent"
	// PathRunDir holds the rendered configuration, the ACL file and the server's socket; in memory.
	PathRunDir = "/holdfast/run"
	// PathTLSDir holds ca.crt, tls.crt and tls.key of the agent.
	PathTLSDir = "/holdfast/tls"
	// PathAgentInImage is the agent in the operator's image.
	PathAgentInImage = "/agent"
	// PathLive, PathReady and PathMetrics are served on ProbePort.
	PathLive    = "/livez"
	PathReady   = "/readyz"
	PathMetrics = "/metrics"
)

// RunAsID is the numeric user and group of every container. Stock images start their server
// under any user, since the server only writes to its data directory.
const RunAsID int64 = 65532

// Users of a Redis or Valkey server.
const (
	// UserDefault is the application's user.
	UserDefault = "default"
	// UserAgent is the agent's own; its password exists only in the agent's memory.
	UserAgent = "holdfast"
	// UserReplication is what a replica signs in with at its primary.
	UserReplication = "replication"
)

// Keys of Secrets.
const (
	// KeyPassword of the application user's Secret.
	KeyPassword = "password"
	// KeyUsername of the generated application user's Secret.
	KeyUsername = "username"
	// KeyCACert, KeyTLSCert and KeyTLSKey of the agent's certificate.
	KeyCACert  = "ca.crt"
	KeyTLSCert = "tls.crt"
	KeyTLSKey  = "tls.key"
)
