/** A filter file of the reader's own: opened by a worker, in this browser, and asked here. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { FilterFacts } from '../engine/describe-filter.ts';
import { EngineClient, STOPPED } from '../engine/engine-client.ts';
import { bytesText, countText, rateText } from '../page/number-text.ts';
import { BitPicture } from './bit-picture.tsx';
import { FileWindow } from './file-window.tsx';

type State =
  | { readonly kind: 'none' }
  | { readonly kind: 'reading'; readonly file: File; readonly bytes: number }
  | { readonly kind: 'failed'; readonly file: File; readonly problem: string }
  | { readonly kind: 'open'; readonly file: File; readonly facts: FilterFacts };

const LABELS: Record<string, readonly [label: string, text: (value: number) => string]> = {
  bits: ['Bits', countText],
  counters: ['Counters', countText],
  blocks: ['Blocks', countText],
  hashes: ['Hash functions', countText],
  capacity: ['Made for keys', countText],
  size: ['Keys', countText],
  counterBits: ['Bits of a counter', countText],
  fingerprintBits: ['Bits of a fingerprint', countText],
  fill: ['Share of ones', rateText],
  onesCount: ['Ones', countText],
  saturatedCount: ['Saturated counters', countText],
  estimatedSize: ['Keys, estimated', countText],
  estimatedFalsePositiveRate: ['Rate of false positives, estimated', rateText],
  byteLength: ['In memory', bytesText],
};

export function FileSection() {
  const engine = useRef<EngineClient | null>(null);
  engine.current ??= new EngineClient();
  const client = engine.current;
  const [state, setState] = useState<State>({ kind: 'none' });
  const [isOver, setOver] = useState(false);
  useEffect(() => () => client.stop(), [client]);

  const open = async (file: File) => {
    client.stop();
    setState({ kind: 'reading', file, bytes: 0 });
    try {
      const answer = await client.ask({ kind: 'open', file }, (bytes) =>
        setState({ kind: 'reading', file, bytes }),
      );
      if (answer.kind === 'opened') setState({ kind: 'open', file, facts: answer.facts });
    } catch (error) {
      const problem = (error as Error).message;
      // Another file was opened, or the reader stopped this one.
      if (problem !== STOPPED) setState({ kind: 'failed', file, problem });
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer?.files[0];
    if (file !== undefined) void open(file);
  };
  return (
    <section aria-labelledby="file-title">
      <h2 id="file-title">A file</h2>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same by keyboard */}
      <div
        class={`drop${isOver ? ' over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <p>
          Drop a filter file here: one of Bloomery, or of Guava, RedisBloom, Parquet, DCSO, Go, Squid, Binary
          Fuse, Spark, DataSketches, Cassandra or pybloom. It stays on this machine. Up to 1 GiB.
        </p>
        <label class="file-button">
          <span>Or choose it:</span>
          <input
            type="file"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file !== undefined) void open(file);
            }}
          />
        </label>
      </div>
      <div aria-live="polite">
        <FileState
          state={state}
          stop={() => {
            client.stop();
            setState({ kind: 'none' });
          }}
        />
      </div>
      {state.kind === 'open' ? <OpenFile file={state.file} facts={state.facts} client={client} /> : null}
    </section>
  );
}

function FileState({ state, stop }: { state: State; stop: () => void }) {
  if (state.kind === 'reading')
    return (
      <p class="buttons">
        <label>
          Reading {state.file.name} <progress max={state.file.size} value={state.bytes} />
        </label>
        <button type="button" onClick={stop}>
          Stop
        </button>
      </p>
    );
  if (state.kind === 'failed')
    return (
      <div class="notice" data-problem>
        <p>
          <strong>{state.file.name}</strong>: {state.problem}.
        </p>
      </div>
    );
  return null;
}

interface OpenFileProps {
  readonly file: File;
  readonly facts: FilterFacts;
  readonly client: EngineClient;
}

function OpenFile({ file, facts, client }: OpenFileProps) {
  const known = Object.entries(LABELS).filter(([name]) => facts.numbers[name] !== undefined);
  return (
    <div class="appears" data-opened={file.name}>
      <h3>{file.name}</h3>
      <p data-text>
        {facts.format === 'bloomery' ? '' : `${facts.format}: `}
        {facts.text}
        {facts.isCoded ? ', coded' : ''}
      </p>
      <div class="numbers">
        <dl>
          <div class="fact">
            <dt>File</dt>
            <dd>{bytesText(file.size)}</dd>
          </div>
          {known.map(([name, [label, text]]) => (
            <div class="fact" key={name}>
              <dt>{label}</dt>
              <dd data-fact={name} data-value={String(facts.numbers[name])}>
                {text(facts.numbers[name])}
              </dd>
            </div>
          ))}
        </dl>
      </div>
      <AskFile facts={facts} client={client} />
      <h3>Where its ones are</h3>
      <BitPicture
        cells={facts.ones}
        most={1}
        columns={Math.min(64, facts.ones.length)}
        text={`The file in ${facts.ones.length} parts, from its first byte to its last. Each is filled as high as its share of ones.`}
      />
      <FileWindow file={file} />
    </div>
  );
}

function AskFile({ facts, client }: { facts: FilterFacts; client: EngineClient }) {
  const [key, setKey] = useState('');
  const [message, setMessage] = useState('');
  if (facts.whyMute !== null) return <p class="notice">{facts.whyMute}.</p>;
  const ask = async () => {
    const asked = key;
    try {
      const answer = await client.ask({ kind: 'ask', key: asked });
      if (answer.kind !== 'asked') return;
      if ('problem' in answer.answer) setMessage(`${answer.answer.problem}.`);
      else {
        const { isMaybe, count } = answer.answer;
        const times = count === undefined ? '' : ` Its count is at most ${countText(count)}.`;
        setMessage(`${isMaybe ? 'Maybe' : 'Certainly not'}: “${asked}”.${times}`);
      }
    } catch (error) {
      setMessage((error as Error).message);
    }
  };
  return (
    <>
      <div class="key-row">
        <label for="file-key">Key</label>
        <input
          id="file-key"
          value={key}
          autocomplete="off"
          spellcheck={false}
          maxLength={10_000}
          onInput={(event) => setKey(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') void ask();
          }}
        />
        <button type="button" class="primary" onClick={() => void ask()}>
          Ask
        </button>
      </div>
      <p role="status" class="message" data-answer>
        {message}
      </p>
    </>
  );
}
