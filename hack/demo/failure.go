package main

import (
	"context"
	"errors"
	"strings"
)

// failure is an error with what a person can do about it.
type failure struct {
	err    error
	advice string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// advise adds what to do. The advice nearest to the cause wins.
func advise(err error, advice string) error {
	var known *failure
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &failure{err: err, advice: advice}
}

// lastLine is the one line that a failed demo ends with.
func lastLine(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "demo interrupted: what was made so far is left as it is, and make demo begins anew"
	}
	line := "demo failed: " + strings.Join(strings.Fields(err.Error()), " ")
	var f *failure
	if errors.As(err, &f) {
		line += "; " + f.advice
	}
	return line
}
