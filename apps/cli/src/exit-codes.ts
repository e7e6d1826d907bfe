/** The exit codes, as grep has them. `--help` and docs/guide/cli.md list them. */

/** It worked; `check` found something; `verify` held. */
export const FOUND = 0;
/** It worked and the answer is no: `check` found nothing, `verify` failed, a word was misspelt. */
export const NOT_FOUND = 1;
/** It did not work; nothing was overwritten. */
export const FAILED = 2;
/** The reader of standard output went away, as a shell shows it: 128 + SIGPIPE. */
export const CLOSED_PIPE = 141;
