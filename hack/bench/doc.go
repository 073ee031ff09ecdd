// Command bench measures what Holdfast promises, on a real cluster, and prints a table. The raw
// figures go to a JSON file.
//
//	go run ./hack/bench -suite failover|create|memory|idle|all [-runs 20] [-out .bench]
//
// It must never leave out what it could not measure: a suite that is missing, a fault that this
// machine cannot make and a smaller number of runs are said in the table.
//
// Start with main.go, then failover.go.
package main
