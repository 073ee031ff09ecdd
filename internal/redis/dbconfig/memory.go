package dbconfig

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sizes in bytes.
const (
	kib int64 = 1 << 10
	mib int64 = 1 << 20
	gib int64 = 1 << 30
)

// units of the configuration file: k is a thousand, kb is 1024, and so on.
var units = map[string]int64{
	"": 1, "b": 1,
	"k": 1000, "kb": kib,
	"m": 1000 * 1000, "mb": mib,
	"g": 1000 * 1000 * 1000, "gb": gib,
}

// ParseMemory reads a size as the configuration file writes it, for example 100mb.
func ParseMemory(value string) (int64, error) {
	v := strings.ToLower(value)
	digits := strings.TrimRight(v, "bkmg")
	unit, ok := units[v[len(digits):]]
	if !ok {
		return 0, fmt.Errorf("%q is not a size: write for example 512mb or 2gb", value)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || (n > 0 && unit > math.MaxInt64/n) {
		return 0, fmt.Errorf("%q is not a size: write for example 512mb or 2gb", value)
	}
	return n * unit, nil
}
