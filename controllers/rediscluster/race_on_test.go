//go:build race

package rediscluster

// sampleEvery: under the race detector, which makes everything many times slower, only one crash in so
// many is tried. It is there for races; all crashes are tried without it.
const sampleEvery = 60
