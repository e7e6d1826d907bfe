/**
 * The summary of a finished build. A filter that got more keys than its capacity causes a warning,
 * because its rate is then above the promised one.
 */

import { className, type OwnFilter } from '../files/structures.ts';
import { formatBytes, formatCount, formatRate, formatSeconds } from '../terminal/format-values.ts';
import { writeJson } from '../terminal/standard-output.ts';
import { isTerminal } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';

interface ReportOptions {
  readonly output: string;
  readonly capacity?: number | undefined;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly quiet?: boolean;
}

interface BuildFigures {
  readonly count: number;
  readonly bytes: number;
  readonly seconds: number;
  /** The seed that was found, and the number of seeds that were tried, with `--never`. */
  readonly seed?: bigint;
  readonly tries?: number;
}

/** Reports a finished build: as JSON, or in words if the user watches or asked for them. */
export function reportBuild(
  filter: OwnFilter,
  { count, bytes, seconds, ...search }: BuildFigures,
  options: ReportOptions,
): void {
  const { output } = options;
  const capacity = 'capacity' in filter ? filter.capacity : undefined;
  const overfull = capacity !== undefined && options.capacity !== undefined && count > capacity;
  const told = options.verbose || (!options.quiet && isTerminal(2));
  // Counting the ones takes time, so it is done only if the result is shown.
  if (!overfull && !told && !options.json) return;
  const rate = 'estimatedFalsePositiveRate' in filter ? filter.estimatedFalsePositiveRate() : undefined;
  if (overfull) {
    warn(
      `${formatCount(count)} keys went into a filter for ${formatCount(capacity)}; false positives are now about ${formatRate(rate ?? 1)}`,
    );
  }
  if (options.json) {
    writeJson({
      output,
      structure: className(filter),
      description: String(filter),
      keys: count,
      bytes,
      bitsPerKey: count === 0 ? null : (8 * bytes) / count,
      estimatedFalsePositiveRate: rate ?? null,
      seconds,
      ...search,
    });
  } else if (told) {
    const share = count === 0 ? '' : `, ${((8 * bytes) / count).toFixed(2)} bits per key`;
    const rates = rate === undefined ? '' : `, false positives ${formatRate(rate)}`;
    const seeds = search.tries === undefined ? '' : `, seed ${search.seed} (${search.tries} tried)`;
    process.stderr.write(
      `${output}: ${formatCount(count)} keys in ${formatBytes(bytes)}${share}${rates}${seeds}, ${formatSeconds(seconds)}\n`,
    );
  }
}
