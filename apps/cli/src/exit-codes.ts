/** The exit codes, the same as those of grep. `--help` and docs/guide/cli.md list them. */

/** Success: `check` found something, or `verify` found the promise kept. */
export const FOUND = 0;
/** Success, and the answer is no: `check` found nothing, `verify` failed, a word was misspelt. */
export const NOT_FOUND = 1;
/** Failure; nothing was overwritten. */
export const FAILED = 2;
/** The reader of standard output closed the pipe: 128 + SIGPIPE, as a shell reports it. */
export const CLOSED_PIPE = 141;
