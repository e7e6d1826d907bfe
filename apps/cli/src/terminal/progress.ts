/**
 * A progress bar on standard error if that is a terminal; otherwise nothing is shown. If the total
 * is unknown, it shows the amount that is done.
 */

import { createRequire } from 'node:module';
import type * as CliProgress from 'cli-progress';
import { formatBytes, formatCount } from './format-values.ts';
import { isTerminal } from './terminal.ts';

export interface Progress {
  /** Reports that `units` more are done. */
  advance(units: number): void;
  /**
   * Removes the bar, so that the next output starts on a clean line. A second call does nothing.
   */
  stop(): void;
}

export interface ProgressOptions {
  /** The work that is being done, such as 'building'. */
  readonly what: string;
  /** The total number of units; 0 or undefined if it is unknown. */
  readonly total?: number | undefined;
  readonly unit?: 'bytes' | 'keys' | 'steps';
  /** False for `--quiet` and `--json`. */
  readonly enabled?: boolean;
}

/** Starts a bar. `stop` it in a `finally`. */
export function startProgress({
  what,
  total = 0,
  unit = 'bytes',
  enabled = true,
}: ProgressOptions): Progress {
  if (!enabled || !isTerminal(2)) return SILENT;
  // Loaded here to keep the start fast, because most runs have no terminal.
  const { Presets, SingleBar } = createRequire(import.meta.url)('cli-progress') as typeof CliProgress;
  const show = unit === 'bytes' ? formatBytes : formatCount;
  const bar = new SingleBar(
    {
      stream: process.stderr,
      clearOnComplete: true,
      hideCursor: false, // after Ctrl-C it would stay hidden
      etaBuffer: 30,
      format: (_, { value, startTime }) => {
        const seconds = Math.max(0.001, (Date.now() - startTime) / 1000);
        const speed = `${show(value / seconds)}/s`;
        if (total <= 0) return `${what} ${show(value)}  ${speed}`;
        const share = Math.min(1, value / total);
        const filled = Math.round(share * BAR);
        const drawn = `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)}`;
        const left = share > 0 ? Math.ceil((seconds * (1 - share)) / share) : 0;
        return `${what} ${drawn} ${Math.floor(100 * share)} %  ${speed}  ${left} s left`;
      },
    },
    Presets.shades_classic,
  );
  bar.start(total, 0);
  return { advance: (units) => bar.increment(units), stop: () => bar.stop() };
}

const BAR = 24;
const SILENT: Progress = { advance: () => {}, stop: () => {} };
