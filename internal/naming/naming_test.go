package naming_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// The right-hand sides are what running clusters are made of. A change here orphans their objects.
func TestNamesAreFrozen(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ got, want string }{
		"stateful set":             {naming.StatefulSet("shop"), "shop"},
		"pod":                      {naming.Pod("shop", 2), "shop-2"},
		"volume claim":             {naming.VolumeClaim("shop", 2), "data-shop-2"},
		"headless service":         {naming.HeadlessService("shop"), "shop"},
		"primary service":          {naming.PrimaryService("shop"), "shop-primary"},
		"replica service":          {naming.ReplicaService("shop"), "shop-replicas"},
		"auth secret":              {naming.AuthSecret("shop"), "shop-auth"},
		"internal secret":          {naming.InternalSecret("shop"), "shop-internal"},
		"ca secret":                {naming.CASecret("shop"), "shop-ca"},
		"agent tls secret":         {naming.AgentTLSSecret("shop"), "shop-agent-tls"},
		"disruption budget":        {naming.PodDisruptionBudget("shop"), "shop"},
		"network policy":           {naming.NetworkPolicy("shop"), "shop"},
		"agent server name":        {naming.AgentServerName("prod", "shop"), "shop.prod.agents.holdfast"},
		"finalizer":                {naming.Finalizer, "db.holdfast.dev/finalizer"},
		"field owner":              {naming.FieldOwner, "holdfast"},
		"cluster label":            {naming.LabelCluster, "db.holdfast.dev/cluster"},
		"role label":               {naming.LabelRole, "db.holdfast.dev/role"},
		"client label":             {naming.LabelClient, "db.holdfast.dev/client"},
		"approval annotation":      {naming.AnnotationApprovePrimaryRestart, "db.holdfast.dev/approve-primary-restart"},
		"restart parts annotation": {naming.AnnotationRestartParts, "db.holdfast.dev/restart-parts"},
		"metadata keys annotation": {naming.AnnotationMetadataKeys, "db.holdfast.dev/metadata-keys"},
		"restart annotation":       {naming.AnnotationRestartedAt, "db.holdfast.dev/restarted-at"},
		"agent state":              {naming.PathAgentState, "/data/.holdfast"},
		"agent":                    {naming.PathAgent, "/holdfast/bin/agent"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}

func TestSelectorIsFrozenAndMatchesMembers(t *testing.T) {
	t.Parallel()
	selector := naming.MemberSelector("shop", naming.PartOfRedis)
	want := map[string]string{
		"db.holdfast.dev/cluster":     "shop",
		"app.kubernetes.io/component": "database",
		"app.kubernetes.io/part-of":   "rediscluster",
	}
	if !maps.Equal(selector, want) {
		t.Errorf("selector is %v, want %v", selector, want)
	}
	labels := naming.MemberLabels("shop", "redis", naming.PartOfRedis)
	for k, v := range selector {
		if labels[k] != v {
			t.Errorf("members have %s=%q, the selector wants %q", k, labels[k], v)
		}
	}
}

func TestLongestClusterNameFitsEverywhere(t *testing.T) {
	t.Parallel()
	cluster := strings.Repeat("x", naming.MaxClusterName)
	// A StatefulSet adds a revision of 10 characters in a label.
	names := []string{
		naming.Pod(cluster, 8), naming.PrimaryService(cluster), naming.ReplicaService(cluster),
		naming.VolumeClaim(cluster, 8), naming.AgentTLSSecret(cluster), naming.StatefulSet(cluster) + "-0123456789",
	}
	for _, n := range names {
		if len(n) > 63 {
			t.Errorf("%s has %d characters, a DNS label has 63", n, len(n))
		}
	}
}

func TestOrdinal(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pod  string
		want int
		ok   bool
	}{
		"a member":                     {"shop-3", 3, true},
		"a member of a longer name":    {"shop-web-3", 0, false},
		"another cluster's pod":        {"shed-3", 0, false},
		"leading zero":                 {"shop-03", 0, false},
		"negative":                     {"shop--3", 0, false},
		"no number":                    {"shop-", 0, false},
		"plus sign accepted by parser": {"shop-+3", 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := naming.Ordinal("shop", c.pod)
			if (err == nil) != c.ok || got != c.want {
				t.Errorf("Ordinal(shop, %s) = %d, %v; want %d, ok=%t", c.pod, got, err, c.want, c.ok)
			}
		})
	}
}

func TestWithKeepsOurOwn(t *testing.T) {
	t.Parallel()
	got := naming.With(map[string]string{"a": "ours"}, map[string]string{"a": "theirs", "b": "theirs"})
	if want := map[string]string{"a": "ours", "b": "theirs"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
