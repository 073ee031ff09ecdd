package agent

import (
	"math"
	"strconv"
	"strings"
)

// sizeInBytes reads a number with one of the engines' units and writes it in bytes. A single
// letter counts in thousands, the same letter with a b in powers of two.
func sizeInBytes(word string) (string, bool) {
	digits := strings.TrimRight(word, "bkmg")
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return "", false
	}
	factor, ok := unitFactor(word[len(digits):])
	if !ok || number > math.MaxInt64/factor || number < math.MinInt64/factor {
		return "", false
	}
	return strconv.FormatInt(number*factor, 10), true
}

func unitFactor(unit string) (int64, bool) {
	switch unit {
	case "", "b":
		return 1, true
	case "k":
		return 1000, true
	case "kb":
		return 1 << 10, true
	case "m":
		return 1000 * 1000, true
	case "mb":
		return 1 << 20, true
	case "g":
		return 1000 * 1000 * 1000, true
	case "gb":
		return 1 << 30, true
	}
	return 0, false
}
