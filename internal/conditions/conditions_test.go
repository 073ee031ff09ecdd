package conditions_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/conditions"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func write(f func(conditions.Writer)) []metav1.Condition {
	var list []metav1.Condition
	f(conditions.NewWriter(&list, 7, noon))
	return list
}

var serving = conditions.Availability{Started: true, Primary: "shop-0", Contact: conditions.ContactKnown, Serving: true, Attached: 2, Needed: 1}

var spoken = map[string]struct {
	set     func(conditions.Writer)
	status  metav1.ConditionStatus
	reason  string
	mention string
}{
	"a primary that serves": {
		func(w conditions.Writer) { w.SetAvailable(serving) }, metav1.ConditionTrue, v1.ReasonPrimaryServing, "shop-0",
	},
	"members that start for the first time": {
		func(w conditions.Writer) {
			w.SetAvailable(conditions.Availability{Detail: "shop-1 is pulling its image."})
		},
		metav1.ConditionFalse, v1.ReasonCreating, "shop-1 is pulling its image.",
	},
	"no primary after the start": {
		func(w conditions.Writer) { w.SetAvailable(conditions.Availability{Started: true}) },
		metav1.ConditionFalse, v1.ReasonNoPrimary, "No member is primary.",
	},
	"a primary out of reach is unknown, not down (I3)": {
		func(w conditions.Writer) {
			a := serving
			a.Contact = conditions.ContactLost
			w.SetAvailable(a)
		}, metav1.ConditionUnknown, v1.ReasonPrimaryUnknown, "cannot reach the primary shop-0",
	},
	"too few replicas": {
		func(w conditions.Writer) {
			a := serving
			a.Attached = 0
			w.SetAvailable(a)
		}, metav1.ConditionFalse, v1.ReasonTooFewReplicas, "0 of 1 needed replicas",
	},
	"a primary that does not serve yet": {
		func(w conditions.Writer) {
			a := serving
			a.Serving = false
			w.SetAvailable(a)
		}, metav1.ConditionFalse, v1.ReasonNoPrimary, "does not take writes",
	},
	"nothing to do": {
		func(w conditions.Writer) { w.SetProgressing() }, metav1.ConditionFalse, v1.ReasonSettled, "Nothing",
	},
	"two activities: the first gives the reason, both the message": {
		func(w conditions.Writer) {
			w.SetProgressing(conditions.Activity{Reason: v1.ReasonScaling, Message: "One."}, conditions.Activity{Reason: v1.ReasonConfiguring, Message: "Two."})
		}, metav1.ConditionTrue, v1.ReasonScaling, "One. Two.",
	},
	"healthy": {
		func(w conditions.Writer) { w.SetDegraded() }, metav1.ConditionFalse, v1.ReasonHealthy, "Every member",
	},
	"a problem": {
		func(w conditions.Writer) {
			w.SetDegraded(conditions.Problem{Reason: v1.ReasonMemberDown, Message: "shop-1 is down."})
		}, metav1.ConditionTrue, v1.ReasonMemberDown, "shop-1 is down.",
	},
	"current": {
		func(w conditions.Writer) { w.SetUpToDate(conditions.Currency{}) }, metav1.ConditionTrue, v1.ReasonCurrent, "Every member",
	},
	"outdated": {
		func(w conditions.Writer) {
			w.SetUpToDate(conditions.Currency{Outdated: []conditions.OutdatedMember{{Name: "shop-1", Why: []string{"image a → b"}}}})
		}, metav1.ConditionFalse, v1.ReasonOutdated, "shop-1 (image a → b)",
	},
	"waiting for approval names the annotation to set": {
		func(w conditions.Writer) {
			w.SetUpToDate(conditions.Currency{
				Outdated: []conditions.OutdatedMember{{Name: "shop-0", Why: []string{"x"}}}, AwaitingApproval: true, Generation: 9,
			})
		}, metav1.ConditionFalse, v1.ReasonApprovalNeeded, "db.holdfast.dev/approve-primary-restart=9",
	},
	"paused": {
		func(w conditions.Writer) { w.SetPaused(v1.RedisClusterSpec{Paused: true}) }, metav1.ConditionTrue, v1.ReasonPaused, "spec.paused",
	},
	"active": {
		func(w conditions.Writer) { w.SetPaused(v1.RedisClusterSpec{}) }, metav1.ConditionFalse, v1.ReasonActive, "looks after",
	},
}

func TestEachConditionSaysWhatItsFactsSay(t *testing.T) {
	t.Parallel()
	for name, c := range spoken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := write(c.set)
			if len(list) != 1 {
				t.Fatalf("wrote %d conditions", len(list))
			}
			got := list[0]
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.mention) {
				t.Errorf("got %s %s %q; want %s %s with %q", got.Status, got.Reason, got.Message, c.status, c.reason, c.mention)
			}
			if got.ObservedGeneration != 7 {
				t.Errorf("speaks of generation %d", got.ObservedGeneration)
			}
		})
	}
}

func TestTransitionTimeMovesOnlyWhenTheStatusFlips(t *testing.T) {
	t.Parallel()
	list := write(func(w conditions.Writer) {
		w.SetDegraded(conditions.Problem{Reason: v1.ReasonMemberDown, Message: "One."})
	})
	later := noon.Add(time.Hour)
	conditions.NewWriter(&list, 8, later).SetDegraded(conditions.Problem{Reason: v1.ReasonPodStuck, Message: "Two."})
	if got := list[0]; !got.LastTransitionTime.Time.Equal(noon) || got.Reason != v1.ReasonPodStuck || got.ObservedGeneration != 8 {
		t.Errorf("another reason gave %+v", got)
	}
	conditions.NewWriter(&list, 8, later).SetDegraded()
	if got := list[0].LastTransitionTime; !got.Time.Equal(later) {
		t.Errorf("a flip left the time at %s", got)
	}
}

func TestWritingTheSameFactsAgainChangesNothing(t *testing.T) {
	t.Parallel()
	facts := func(w conditions.Writer) {
		w.SetUpToDate(conditions.Currency{})
		w.SetPaused(v1.RedisClusterSpec{})
		w.SetDegraded()
		w.SetProgressing()
		w.SetAvailable(conditions.Availability{})
	}
	list := write(facts)
	before := slices.Clone(list)
	facts(conditions.NewWriter(&list, 7, noon.Add(time.Minute)))
	if !slices.Equal(before, list) {
		t.Errorf("before %+v, after %+v", before, list)
	}
	if !slices.IsSortedFunc(list, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) }) {
		t.Errorf("not in the order of types: %+v", list)
	}
	for _, kind := range []string{v1.ConditionAvailable, v1.ConditionProgressing, v1.ConditionDegraded, v1.ConditionUpToDate, v1.ConditionPaused} {
		if meta.FindStatusCondition(list, kind) == nil {
			t.Errorf("condition %s is missing", kind)
		}
	}
}

func TestALongMessageIsCutAtAWholeCharacter(t *testing.T) {
	t.Parallel()
	list := write(func(w conditions.Writer) {
		w.SetDegraded(conditions.Problem{Reason: v1.ReasonMemberDown, Message: "a" + strings.Repeat("→", 1000)})
	})
	if m := list[0].Message; len(m) > 1024 || !utf8.ValidString(m) || !strings.HasSuffix(m, " …") {
		t.Errorf("message of %d bytes, valid=%t", len(m), utf8.ValidString(m))
	}
}
