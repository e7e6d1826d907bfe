/**
 * The list of foreign formats, under the names that `FormatError`, `ForeignFilter`, `sniffFormat`
 * and the command's `--format` use. Tables of formats elsewhere are typed by it, so that a format
 * that is added here and missing there does not compile. It imports no format, so that a program
 * carries only those that it reads.
 */

export const FOREIGN_FORMATS = [
  'guava',
  'redisbloom',
  'parquet',
  'dcso',
  'go-bloom',
  'squid',
  'binary-fuse',
  'spark',
  'datasketches',
  'cassandra',
  'pybloom',
] as const;

export type ForeignFormat = (typeof FOREIGN_FORMATS)[number];
