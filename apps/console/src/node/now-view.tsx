/** Now: what the node is doing, from its counts, its history and its last answers. */

import { useEffect } from 'preact/hooks';
import { bytesText, countText, durationText, rateText, shortNumber } from '../page/number-text.ts';
import { registerView } from '../shell/view-registry.ts';
import { AnswerList } from './answer-list.tsx';
import { BusiestList } from './busiest-list.tsx';
import type { FeedState } from './feed-state.ts';
import { HistorySection } from './history-section.tsx';
import type { Counts } from './node-api.ts';
import { feed, useStream } from './node-feed.ts';
import { NodeState } from './node-state.tsx';
import { bytesSaved, percentile, percentileText, sharesOf, totalRequests } from './now-facts.ts';

function NowView() {
  useEffect(useStream, []);
  const state = feed.value;
  return (
    <div class="now">
      <NodeState state={state} />
      {state.hello === null || state.counts.length === 0 ? null : (
        <>
          <p class="quiet">
            <strong>{state.hello.name}</strong>, version {state.hello.version}. The numbers count from its
            start, {new Date(state.hello.startedAt).toLocaleString()}.
          </p>
          <Numbers state={state} />
          <HistorySection state={state} />
          <div class="two">
            <AnswerList state={state} />
            <BusiestList state={state} />
          </div>
        </>
      )}
    </div>
  );
}

function Numbers({ state }: { state: FeedState }) {
  const counts = state.counts.at(-1);
  if (counts === undefined) return null;
  const before = state.counts.length > 1 ? state.counts[0] : undefined;
  const seconds = before === undefined ? 0 : (counts.at - before.at) / 1000;
  const shares = sharesOf(counts);
  const total = totalRequests(counts);
  const rate = before === undefined ? null : (total - totalRequests(before)) / seconds;
  const { boundsMs } = counts.latency;
  const asked = counts.trueHits + counts.falseHits;
  const part = (count: number) => {
    const all = shares.local + shares.peer + shares.origin;
    return all === 0 ? '–' : rateText(count / all);
  };
  return (
    <section aria-label="Numbers" class="numbers">
      <ShareBar local={shares.local} peer={shares.peer} origin={shares.origin} />
      <dl>
        <Fact
          name="hitRatio"
          label="Hit ratio"
          value={shares.hitRatio}
          text={shares.hitRatio === null ? '–' : rateText(shares.hitRatio)}
        />
        <Fact name="local" label="From this cache" value={shares.local} text={part(shares.local)} />
        <Fact name="peer" label="From neighbours" value={shares.peer} text={part(shares.peer)} />
        <Fact name="origin" label="From origins" value={shares.origin} text={part(shares.origin)} />
        <Fact name="requests" label="Requests" value={total} text={countText(total)} />
        <Fact
          name="rate"
          label="Requests per second"
          value={rate}
          text={rate === null ? '–' : shortNumber(rate)}
        />
        <Fact
          name="bytesSaved"
          label="Bytes saved"
          value={bytesSaved(counts)}
          text={bytesText(bytesSaved(counts))}
        />
        <Fact
          name="p50"
          label="Half of answers take"
          value={percentile(counts, 0.5)}
          text={percentileText(percentile(counts, 0.5), boundsMs)}
        />
        <Fact
          name="p99"
          label="99 % of answers take"
          value={percentile(counts, 0.99)}
          text={percentileText(percentile(counts, 0.99), boundsMs)}
        />
        <Fact
          name="summaryBytes"
          label="Summaries in and out"
          value={counts.summaryBytesIn + counts.summaryBytesOut}
          text={`${bytesText(counts.summaryBytesIn)} / ${bytesText(counts.summaryBytesOut)}`}
        />
        <Fact
          name="falseHits"
          label="False hits at neighbours"
          value={counts.falseHits}
          text={asked === 0 ? '0' : `${countText(counts.falseHits)} (${rateText(counts.falseHits / asked)})`}
        />
        <StoredFact name="inMemory" label="Objects in memory" stored={counts.inMemory} />
        {counts.onDisk === null ? null : (
          <StoredFact name="onDisk" label="Objects on disk" stored={counts.onDisk} />
        )}
        <Fact
          name="uptime"
          label="Runs for"
          value={counts.at - counts.startedAt}
          text={durationText(counts.at - counts.startedAt)}
        />
      </dl>
    </section>
  );
}

function StoredFact({
  name,
  label,
  stored: { objects, bytes },
}: {
  name: string;
  label: string;
  stored: Counts['inMemory'];
}) {
  return (
    <Fact name={name} label={label} value={objects} text={`${countText(objects)} (${bytesText(bytes)})`} />
  );
}

function Fact({
  name,
  label,
  value,
  text,
}: {
  name: string;
  label: string;
  value: number | null;
  text: string;
}) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd data-fact={name} data-value={String(value)}>
        {text}
      </dd>
    </div>
  );
}

/** One bar of where answers came from. The numbers stand below it. */
function ShareBar({ local, peer, origin }: { local: number; peer: number; origin: number }) {
  const all = local + peer + origin;
  if (all === 0)
    return <p class="quiet">No request so far. Send one through the node, and it appears here.</p>;
  const width = (count: number) => (1000 * count) / all;
  return (
    <svg class="share-bar" viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true">
      <rect class="f0" width={width(local)} height="24" />
      <rect class="f2" x={width(local)} width={width(peer)} height="24" />
      <rect class="f1" x={width(local + peer)} width={width(origin)} height="24" />
    </svg>
  );
}

registerView('now', NowView);
