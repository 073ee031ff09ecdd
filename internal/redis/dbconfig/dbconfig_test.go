package dbconfig_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/redis/dbconfig"
)

type change func(*v1.RedisCluster)

func cluster(changes ...change) *v1.RedisCluster {
	size := resource.MustParse("1Gi")
	c := &v1.RedisCluster{Spec: v1.RedisClusterSpec{Engine: v1.EngineRedis, Replicas: 3, Storage: v1.StorageSpec{Size: &size}}}
	for _, f := range changes {
		f(c)
	}
	return c
}

func memoryLimit(quantity string) change {
	return func(c *v1.RedisCluster) {
		c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
	}
}

func config(pairs ...string) change {
	return func(c *v1.RedisCluster) {
		c.Spec.Config = map[string]v1.ConfigValue{}
		for pair := range slices.Chunk(pairs, 2) {
			c.Spec.Config[pair[0]] = v1.ConfigValue(pair[1])
		}
	}
}

func members(n int32) change { return func(c *v1.RedisCluster) { c.Spec.Replicas = n } }

func ephemeral(c *v1.RedisCluster) { c.Spec.Storage = v1.StorageSpec{Ephemeral: true} }

func TestRenderComputesDefaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		cluster *v1.RedisCluster
		want    map[string]string
	}{
		"durable storage writes to the append-only file each second": {
			cluster(), map[string]string{
				"appendonly": "yes", "appendfsync": "everysec", "maxmemory": "0", "repl-backlog-size": "1048576", "min-replicas-to-write": "1",
			},
		},
		"ephemeral storage writes nothing": {
			cluster(ephemeral), map[string]string{
				"appendonly": "no", "save": "", "maxmemory": "0", "repl-backlog-size": "1048576", "min-replicas-to-write": "1",
			},
		},
		"data gets 75 % of the memory limit, the backlog 1 % of that": {
			cluster(memoryLimit("4Gi")), map[string]string{
				"appendonly": "yes", "appendfsync": "everysec", "maxmemory": "3221225400", "repl-backlog-size": "32212254", "min-replicas-to-write": "1",
			},
		},
		"the backlog is at most 256 MiB": {
			cluster(memoryLimit("100Gi")), map[string]string{
				"appendonly": "yes", "appendfsync": "everysec", "maxmemory": "80530636800", "repl-backlog-size": "268435456", "min-replicas-to-write": "1",
			},
		},
		"the backlog follows a maxmemory that the user set": {
			cluster(memoryLimit("4Gi"), config("maxmemory", "1gb")), map[string]string{
				"appendonly": "yes", "appendfsync": "everysec", "maxmemory": "1gb", "repl-backlog-size": "10737418", "min-replicas-to-write": "1",
			},
		},
		"the user's word wins over a default": {
			cluster(config("appendonly", "no", "repl-backlog-size", "2mb")), map[string]string{
				"appendonly": "no", "appendfsync": "everysec", "maxmemory": "0", "repl-backlog-size": "2mb", "min-replicas-to-write": "1",
			},
		},
		"two members do not wait for a replica": {
			cluster(members(2)), map[string]string{
				"appendonly": "yes", "appendfsync": "everysec", "maxmemory": "0", "repl-backlog-size": "1048576", "min-replicas-to-write": "0",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := dbconfig.Render(c.cluster)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got.Parameters, c.want) {
				t.Errorf("got  %v\nwant %v", got.Parameters, c.want)
			}
			if len(got.RestartOnly) != 0 {
				t.Errorf("defaults that need a restart: %v (I10)", got.RestartOnly)
			}
		})
	}
}

func TestOnlyParametersReadAtStartNeedARestart(t *testing.T) {
	t.Parallel()
	got, err := dbconfig.Render(cluster(config("io-threads", "4", "databases", "32", "maxclients", "100", "some-future-parameter", "1")))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"databases", "io-threads"}; !slices.Equal(got.RestartOnly, want) {
		t.Errorf("got %v, want %v", got.RestartOnly, want)
	}
	if want := map[string]string{"databases": "32", "io-threads": "4"}; !maps.Equal(got.RestartParameters(), want) {
		t.Errorf("got %v, want %v", got.RestartParameters(), want)
	}
}

func TestValidationNamesTheParameterAndTheWayOut(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		cluster *v1.RedisCluster
		mention []string
	}{
		"a password":                      {cluster(config("requirepass", "x")), []string{"requirepass", "spec.auth"}},
		"a replication source":            {cluster(config("replicaof", "h 1")), []string{"replicaof", "spec.replicas"}},
		"the fence":                       {cluster(config("min-replicas-to-write", "0")), []string{"min-replicas-to-write", "spec.durability"}},
		"a family":                        {cluster(config("cluster-enabled", "yes")), []string{"cluster-enabled", "Redis Cluster"}},
		"TLS":                             {cluster(config("tls-port", "1")), []string{"tls-port", "TLS"}},
		"a directory":                     {cluster(config("dir", "/etc")), []string{"config dir", "cannot be changed"}},
		"a second directive":              {cluster(config("maxclients", "1\nrequirepass x")), []string{"maxclients", "control characters"}},
		"a NUL":                           {cluster(config("maxclients", "1\x00")), []string{"maxclients", "control characters"}},
		"a name in capitals":              {cluster(config("MAXCLIENTS", "1")), []string{"MAXCLIENTS", "lower-case"}},
		"a name with a blank":             {cluster(config("a b", "1")), []string{`"a b"`}},
		"an empty value":                  {cluster(config("maxclients", "")), []string{"maxclients", "remove the parameter"}},
		"a value without end":             {cluster(config("maxclients", strings.Repeat("1", 1025))), []string{"maxclients", "1025"}},
		"a size that is none":             {cluster(config("maxmemory", "lots")), []string{"maxmemory", "512mb"}},
		"more memory than there is":       {cluster(memoryLimit("1Gi"), config("maxmemory", "2gb")), []string{"maxmemory", "1Gi", "lower it"}},
		"no bound where there is a limit": {cluster(memoryLimit("1Gi"), config("maxmemory", "0")), []string{"maxmemory", "no limit", "75 %"}},
		"two mistakes are both named":     {cluster(config("bind", "::", "port", "1")), []string{"config bind", "config port"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := dbconfig.Render(c.cluster)
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, m := range c.mention {
				if !strings.Contains(err.Error(), m) {
					t.Errorf("error %q does not mention %q", err, m)
				}
			}
		})
	}
}

func TestHarmlessOddValuesAreTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*v1.RedisCluster{
		"no snapshots":              cluster(config("save", "")),
		"no notifications":          cluster(config("notify-keyspace-events", "")),
		"quotes and shell words":    cluster(config("maxmemory-policy", `"$(reboot)"; x`)),
		"memory equal to the limit": cluster(memoryLimit("1Gi"), config("maxmemory", "1gb")),
		"no bound without a limit":  cluster(config("maxmemory", "0")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := dbconfig.Render(c); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestParseMemory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "7b": 7, "1k": 1000, "1kb": 1024, "2M": 2000000, "100mb": 104857600, "1GB": 1 << 30, "8g": 8000000000,
	} {
		if got, err := dbconfig.ParseMemory(text); err != nil || got != want {
			t.Errorf("ParseMemory(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "mb", "-1", "1.5gb", "1tb", "1bb", "9223372036854775807gb", "1 gb"} {
		if got, err := dbconfig.ParseMemory(text); err == nil {
			t.Errorf("ParseMemory(%q) = %d", text, got)
		}
	}
}

func FuzzParseMemory(f *testing.F) {
	for _, seed := range []string{"1gb", "100mb", "", "g", "0x1kb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := dbconfig.ParseMemory(text); err == nil && n < 0 {
			t.Errorf("ParseMemory(%q) = %d", text, n)
		}
	})
}
