package e2e_test

import (
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// The last lines of a run: each spec with its time and what its clients saw.
var _ = ReportAfterSuite("times", func(report Report) {
	fmt.Fprintln(os.Stdout, "\nThe specs, with their times and what clients saw:")
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType != types.NodeTypeIt || spec.State.Is(types.SpecStateSkipped|types.SpecStatePending) && spec.RunTime == 0 {
			continue
		}
		fmt.Fprintf(os.Stdout, "%-9s %6s  %s\n", spec.State, spec.RunTime.Round(100*time.Millisecond), spec.FullText())
		for _, entry := range spec.ReportEntries {
			fmt.Fprintf(os.Stdout, "%17s%s\n", "", entry.Name)
		}
	}
	fmt.Fprintf(os.Stdout, "all: %s\n", report.RunTime.Round(time.Second))
})
