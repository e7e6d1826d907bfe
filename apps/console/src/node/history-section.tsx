/** The last hour, day and week, as plots over time, and as files. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { bytesText, shortNumber } from '../page/number-text.ts';
import type { FeedState } from './feed-state.ts';
import type { History, Span } from './node-api.ts';
import { askNode } from './node-feed.ts';
import { type TimeLine, TimePlot } from './time-plot.tsx';

/** Drawn until the history is there, so that nothing below it jumps. */
const NO_HISTORY: History = { span: 'hour', stepMs: 10_000, at: 0, columns: [], rows: [] };

const SPANS: readonly [Span, string][] = [
  ['hour', 'Hour'],
  ['day', 'Day'],
  ['week', 'Week'],
];

export function HistorySection({ state: { hello, hourRows, beginnings } }: { state: FeedState }) {
  const [span, setSpan] = useState<Span>('hour');
  const [history, setHistory] = useState<History | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const load = () =>
      askNode<History>(`history?span=${span}`).then(
        (loaded) => {
          if (!isCurrent) return;
          setHistory(loaded);
          setProblem(null);
        },
        (error: Error) => isCurrent && setProblem(error.message),
      );
    void load();
    // The stream brings rows of the hour. Those of longer spans are fetched now and then, and all
    // of them when a stream begins, because rows before it were not told.
    const timer = setInterval(load, span === 'hour' ? 600_000 : 60_000);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [span, beginnings]);
  const rows = useMemo(() => mergedRows(history, span === 'hour' ? hourRows : []), [history, hourRows, span]);
  return (
    <section aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      <p class="buttons">
        {SPANS.map(([name, text]) => (
          <button key={name} type="button" aria-pressed={span === name} onClick={() => setSpan(name)}>
            {text}
          </button>
        ))}
        <a href={`../history?span=${span}&format=csv`} download={`bloomery-${span}.csv`}>
          CSV
        </a>
        <a href={`../history?span=${span}`} download={`bloomery-${span}.json`}>
          JSON
        </a>
        {hello?.historyKept === 'memory' ? (
          <span class="quiet">It is kept in memory and ends with the node (--disk keeps it).</span>
        ) : null}
      </p>
      {problem === null ? null : (
        <p class="notice" role="alert">
          The node gave no history: {problem}
        </p>
      )}
      <Plots history={history ?? NO_HISTORY} rows={rows} />
    </section>
  );
}

type Row = readonly (number | null)[];

/** The rows of the node, and those that the stream brought since. The later one counts. */
function mergedRows(history: History | null, more: readonly Row[]): Row[] {
  const rows = new Map<number, Row>();
  for (const row of [...(history?.rows ?? []), ...more]) if (row[0] !== null) rows.set(row[0], row);
  return [...rows.values()].sort((a, b) => a[0]! - b[0]!).slice(-400);
}

function Plots({ history, rows }: { history: History; rows: readonly Row[] }) {
  const { columns, stepMs } = history;
  const times = rows.map((row) => row[0]!);
  const column = (name: string, factor = 1) => {
    const at = columns.indexOf(name);
    return rows.map((row) => (at < 0 || row[at] == null ? null : row[at] * factor));
  };
  const perSecond = 1000 / stepMs;
  const perMinute = 60_000 / stepMs;
  const line = (name: string, text: string, colour: number, factor: number): TimeLine => ({
    name: text,
    colour,
    values: column(name, factor),
  });
  const latency = (name: string) => column(name).map((ms) => (ms === null ? null : ms < 0 ? 10_000 : ms));
  return (
    <div class="time-plots">
      <TimePlot
        title="Answers per second"
        times={times}
        stepMs={stepMs}
        format={shortNumber}
        lines={[
          line('local', 'this cache', 0, perSecond),
          line('peer', 'neighbours', 2, perSecond),
          line('origin', 'origins', 1, perSecond),
        ]}
      />
      <TimePlot
        title="Bytes per second"
        times={times}
        stepMs={stepMs}
        format={bytesText}
        lines={[
          line('bytesSent', 'sent', 0, perSecond),
          line('bytesFromNeighbours', 'from neighbours', 2, perSecond),
          line('bytesFromOrigins', 'from origins', 1, perSecond),
        ]}
      />
      <TimePlot
        title="Time to answer, ms"
        times={times}
        stepMs={stepMs}
        format={shortNumber}
        lines={[
          { name: 'half of them', colour: 0, values: latency('p50Ms') },
          { name: '99 %', colour: 4, values: latency('p99Ms') },
        ]}
      />
      <TimePlot
        title="Summaries, bytes per minute"
        times={times}
        stepMs={stepMs}
        format={bytesText}
        lines={[line('summaryBytesIn', 'in', 0, perMinute), line('summaryBytesOut', 'out', 1, perMinute)]}
      />
      <TimePlot
        title="Hits at neighbours per minute"
        times={times}
        stepMs={stepMs}
        format={shortNumber}
        lines={[line('trueHits', 'true', 2, perMinute), line('falseHits', 'false', 4, perMinute)]}
      />
    </div>
  );
}
