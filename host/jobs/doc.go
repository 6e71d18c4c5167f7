// Package jobs owns periodic work: each job runs once for each time that it is
// due, over all replicas on one store. When a job is due, who is at it and
// until when is decided by the store and its clock; the clocks of the replicas
// play no part. What the jobs do is handed in as plain functions.
//
// # Life of a run
//
//  1. The runner asks the store for each of its jobs, one after another. The
//     store gives a job that is due to one runner only, with a fence and for a
//     time; everybody else is told when to ask again.
//  2. The job's function runs, with a context that ends at the job's limit.
//     Meanwhile the runner renews the lease. Where that fails for too long, or
//     somebody took the job over, the function's context ends.
//  3. The runner tells the store how the run ended, and when the next one is due.
//     A failure is logged, kept until a run goes well, and changes nothing about
//     the next run.
//  4. If the process dies in between, the lease runs out and the next runner that
//     asks takes the job over. The old fence can finish nothing.
//  5. When the runner is to stop, a run gets a short time to end by itself, then
//     its context ends. What was broken off is due at once, for another replica or
//     after the next start.
package jobs
