// Package blob keeps large immutable data: what is too long for a model or for
// a row of the store. A blob belongs to a session and goes with it.
//
// A store is a bucket, named by a URL:
//
//	/var/lib/sluice/blobs, file:///var/lib/sluice/blobs   a folder
//	s3://bucket?region=eu-central-1                       S3, credentials as its own tools find them
//	s3://bucket?endpoint=https://minio:9000&use_path_style=true&region=us-east-1
//	oss://bucket?region=oss-cn-hangzhou                   OSS, by its S3 interface
//	gs://bucket                                           GCS, by its S3 interface (HMAC keys), or its own
//	azblob://container                                    Azure, its own
//
// S3, OSS and GCS by their S3 interface are in every build. GCS and Azure by
// their own interfaces cost minutes of compilation, so that each has a build
// tag: sluice_gcs, sluice_azure. Keys never stand in a URL.
//
// # Life of a blob
//
//  1. Put checks size, type and name, draws an id of 160 random bits, and writes
//     the bytes under the SHA-256 of tenant, user and session, and that id. Type
//     and name are metadata and no part of a path. In a folder it is on the disk
//     when Put returns. PutFrom does the same with a stream.
//  2. Read, Open and Stat look under the asking session only: an id of somebody else's
//     is not found, exactly as one that never was. Nothing changes a blob.
//  3. Delete takes one back, whose call was not settled.
//  4. PurgeSession removes all that lies under the session.
package blob
