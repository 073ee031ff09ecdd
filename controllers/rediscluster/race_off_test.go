//go:build !race

package rediscluster

// sampleEvery crash is tried: all.
const sampleEvery = 1
