package exposition_test

import (
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/holdfast-dev/holdfast/internal/agent/exposition"
)

func TestPrometheusReadsWhatIsWritten(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	odd := "a \"quoted\" back\\slash\nand a line"
	err := exposition.Write(&b, []exposition.Family{
		exposition.One(exposition.Counter, "writes_total", "Writes.\nOf all kinds \\ sorts.", 12345678901),
		{Name: "role", Help: "Role.", Kind: exposition.Gauge, Series: []exposition.Series{
			{Label: "role", LabelValue: odd, Value: exposition.Truth(true).Value()},
			{Label: "role", LabelValue: "other", Value: exposition.Truth(false).Value()},
		}},
		{Name: "absent", Help: "Nothing.", Kind: exposition.Gauge},
	})
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if len(families) != 2 {
		t.Errorf("%d families", len(families))
	}
	writes := families["writes_total"]
	if writes.GetMetric()[0].GetCounter().GetValue() != 12345678901 || writes.GetHelp() != "Writes.\nOf all kinds \\ sorts." {
		t.Errorf("writes_total: %v", writes)
	}
	role := families["role"].GetMetric()
	if len(role) != 2 || role[0].GetLabel()[0].GetValue() != odd || role[0].GetGauge().GetValue() != 1 || role[1].GetGauge().GetValue() != 0 {
		t.Errorf("role: %v", role)
	}
}
