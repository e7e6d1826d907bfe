/**
 * Reads a line from the terminal without showing it. The prompt goes to standard error, and the
 * typed text is not echoed. The terminal is in raw mode meanwhile, so editing is done here:
 * backspace, Ctrl-U (all), Ctrl-W (the last word), Enter or Ctrl-D. No stars are shown either,
 * because they would tell the length.
 *
 * The terminal is restored when this returns, throws, or ends the process. Ctrl-C restores it first
 * and then ends the process with SIGINT, as the shell expects. For other signals Node itself resets
 * the terminal.
 */

import { UsageError } from '../usage-error.ts';

/** Reads one line. Standard input must be a terminal. Ctrl-D on an empty line is a `UsageError`. */
export async function readSecret(prompt: string, what: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) throw new TypeError('Cannot read a secret: expected a terminal, got another stream');
  let outcome: Outcome = { text: '', state: 'typing' };
  // Raw mode starts before the prompt, so that text typed at once is not shown either.
  stdin.setRawMode(true);
  try {
    stdin.setEncoding('utf8');
    stderr.write(prompt);
    outcome = await new Promise<Outcome>((resolve) => {
      let typed: Outcome = outcome;
      stdin.on('data', (input: string) => {
        typed = type(typed, input);
        if (typed.state !== 'typing') resolve(typed);
      });
      stdin.once('end', () => resolve({ text: '', state: 'ended' }));
    });
  } finally {
    stdin.removeAllListeners('data');
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
  if (outcome.state === 'interrupted') return await dieOfInterrupt();
  if (outcome.state === 'ended') throw new UsageError(`no ${what} came`);
  return outcome.text;
}

interface Outcome {
  readonly text: string;
  readonly state: 'typing' | 'entered' | 'interrupted' | 'ended';
}

/**
 * Returns the state after some more input. Exported for its test; this function does not touch a
 * terminal.
 */
export function type({ text }: Outcome, input: string): Outcome {
  let line = text;
  for (const character of input.replace(ESCAPES, '')) {
    if (character === '\r' || character === '\n') return { text: line, state: 'entered' };
    if (character === CTRL_C || character === CTRL_BACKSLASH) return { text: '', state: 'interrupted' };
    if (character === CTRL_D) return { text: line, state: line === '' ? 'ended' : 'entered' };
    if (character === CTRL_U) line = '';
    else if (character === CTRL_W) line = line.replace(/\S*\s*$/u, '');
    else if (character === BACKSPACE || character === DELETE) line = [...line].slice(0, -1).join('');
    else if (character >= ' ') line += character;
  }
  return { text: line, state: 'typing' };
}

function dieOfInterrupt(): Promise<never> {
  process.kill(process.pid, 'SIGINT');
  // Waits until the signal arrives.
  return new Promise(() => setTimeout(() => process.exit(130), 1000));
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const BACKSPACE = '\b';
const CTRL_U = '\u0015';
const CTRL_W = '\u0017';
const CTRL_BACKSLASH = '\u001c';
const DELETE = '\u007f';
/** Arrow and function keys: CSI and SS3 sequences. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what keys send
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|O.|)/g;
