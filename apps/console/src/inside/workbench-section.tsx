/** A filter of the reader's own: keys, positions, counters, halving, deltas, compression. */

import { useRef, useState } from 'preact/hooks';
import { bytesText, rateText, shortNumber } from '../page/number-text.ts';
import { BitPicture, CellText } from './bit-picture.tsx';
import { type Kind, MOST_HASHES, SATURATED, type Shape, SIZES, Workbench } from './workbench.ts';

const FIRST: Shape = { kind: 'bits', bits: 256, hashes: 3 };
/** Keys that one button adds, so that a filter is filled quickly. */
const SEVERAL = 10;

export function WorkbenchSection() {
  const bench = useRef<Workbench | null>(null);
  bench.current ??= new Workbench(FIRST);
  const [key, setKey] = useState('');
  const [asked, setAsked] = useState<string | null>(null);
  const [message, setMessage] = useState('Type a key, then add it or ask for it.');
  const [, setRound] = useState(0);
  const several = useRef(0);
  const filter = bench.current;
  const { kind, bits } = filter.shape;

  const say = (text: string, about: string | null) => {
    setMessage(text);
    setAsked(about);
    setRound((round) => round + 1);
  };
  const reshape = (part: Partial<Shape>) => {
    bench.current = new Workbench({ ...filter.shape, ...part });
    say('A new filter, without keys.', null);
  };
  const add = () => {
    filter.add(key);
    say(`Added. Its places are ${filter.positionsOf(key).join(', ')}.`, key);
  };
  const ask = () => {
    const places = filter.positionsOf(key);
    const cells = filter.cells();
    const empty = places.filter((place) => cells[place] === 0);
    say(
      empty.length === 0
        ? `Maybe: its places ${places.join(', ')} are all set.`
        : `Certainly not: of its places ${places.join(', ')}, nothing is at ${empty.join(', ')}.`,
      key,
    );
  };
  const takeOut = () => {
    if (!filter.has(key)) {
      say('It is certainly not in the filter, so there is nothing to take out.', key);
      return;
    }
    filter.delete(key);
    say('Taken out: each of its counters went down by one, except those that stay at 15.', key);
  };
  const addSame = () => {
    for (let i = 0; i < 20; i++) filter.add(key);
    say(`Added 20 times. A counter of four bits stops at ${SATURATED} and stays there forever.`, key);
  };
  const addSeveral = () => {
    for (let i = 0; i < SEVERAL; i++) filter.add(`key ${several.current++}`);
    say(`Added ${SEVERAL} keys, up to “key ${several.current - 1}”.`, null);
  };
  const halve = () => {
    const half = filter.halved();
    if (half === null) return;
    bench.current = half;
    say(`Halved: each pair of neighbours became one place. All keys are still there.`, asked);
  };
  const mark = () => {
    filter.mark();
    say('This moment is marked. What changes from now on is outlined.', null);
  };
  const isEmpty = key === '';
  const places = asked === null ? [] : filter.positionsOf(asked);
  const cells = filter.cells();
  const delta = filter.delta();
  return (
    <section aria-labelledby="bench-title">
      <h2 id="bench-title">A filter of your own</h2>
      <ShapeFields shape={filter.shape} reshape={reshape} />
      <div class="key-row">
        <label for="bench-key">Key</label>
        <input
          id="bench-key"
          value={key}
          autocomplete="off"
          spellcheck={false}
          maxLength={1000}
          onInput={(event) => setKey(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !isEmpty) ask();
          }}
        />
        <button type="button" class="primary" disabled={isEmpty} onClick={add}>
          Add
        </button>
        <button type="button" disabled={isEmpty} onClick={ask}>
          Ask
        </button>
        {kind === 'counters' ? (
          <>
            <button type="button" disabled={isEmpty} onClick={takeOut}>
              Take out
            </button>
            <button type="button" disabled={isEmpty} onClick={addSame}>
              Add it 20 times
            </button>
          </>
        ) : null}
      </div>
      <p role="status" class="message" data-message>
        {message}
      </p>
      <BitPicture
        cells={cells}
        most={kind === 'bits' ? 1 : SATURATED}
        columns={bits <= 1024 ? 32 : 64}
        marked={places}
        changed={delta?.changed ?? []}
        text={pictureText(filter, places, delta?.changed.length)}
      />
      <CellText cells={cells} columns={bits <= 1024 ? 32 : 64} />
      <p class="buttons">
        <button type="button" onClick={addSeveral}>
          Add {SEVERAL} keys
        </button>
        <button type="button" onClick={mark}>
          Mark this moment
        </button>
        <button type="button" disabled={kind !== 'bits' || bits <= 32} onClick={halve}>
          Halve it
        </button>
        <button type="button" onClick={() => reshape({})}>
          Empty it
        </button>
      </p>
      <Facts filter={filter} />
    </section>
  );
}

function pictureText(filter: Workbench, places: readonly number[], changed?: number): string {
  const { kind, bits } = filter.shape;
  const { ones } = filter.facts();
  const what = kind === 'bits' ? 'bits' : 'counters';
  const of = places.length === 0 ? '' : ` Outlined: the places of the key, ${places.join(', ')}.`;
  const delta = changed === undefined ? '' : ` ${changed} changed since the marked moment.`;
  return `${bits} ${what}, ${ones} of them ${kind === 'bits' ? 'set' : 'above 0'}.${of}${delta}`;
}

function ShapeFields({ shape, reshape }: { shape: Shape; reshape: (part: Partial<Shape>) => void }) {
  return (
    <div class="shape">
      <label>
        Made of{' '}
        <select
          value={shape.kind}
          onChange={(event) => reshape({ kind: event.currentTarget.value as Kind, bits: FIRST.bits })}
        >
          <option value="bits">bits</option>
          <option value="counters">counters of 4 bits</option>
        </select>
      </label>
      <label>
        Size{' '}
        <select
          value={String(shape.bits)}
          onChange={(event) => reshape({ bits: Number(event.currentTarget.value) })}
        >
          {[...new Set([...SIZES, shape.bits])]
            .sort((a, b) => a - b)
            .map((size) => (
              <option key={size} value={String(size)}>
                {size}
              </option>
            ))}
        </select>
      </label>
      <label>
        Hash functions{' '}
        <select
          value={String(shape.hashes)}
          onChange={(event) => reshape({ hashes: Number(event.currentTarget.value) })}
        >
          {Array.from({ length: MOST_HASHES }, (_, i) => (
            <option key={i} value={String(i + 1)}>
              {i + 1}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Facts({ filter }: { filter: Workbench }) {
  const facts = filter.facts();
  const delta = filter.delta();
  return (
    <div class="numbers">
      <dl>
        <Fact label="Share of ones" text={rateText(facts.fill)} />
        <Fact label="Keys, estimated from the zeros" text={shortNumber(facts.estimatedSize)} />
        <Fact label="Rate of false positives now" text={rateText(facts.falsePositiveRate)} />
        {filter.shape.kind === 'counters' ? (
          <Fact label={`Counters that stay at ${SATURATED}`} text={String(facts.saturated)} />
        ) : null}
        <Fact label="The array of bits" text={bytesText(facts.arrayBytes)} />
        <Fact label="Its entropy" text={`${facts.entropyBytes.toFixed(1)} B`} />
        <Fact label={`Coded (${facts.coding})`} text={bytesText(facts.codedBytes)} />
        {delta === null ? null : (
          <Fact label="Delta since the marked moment" text={bytesText(delta.deltaBytes)} />
        )}
        {delta === null ? null : <Fact label="The whole as a message" text={bytesText(delta.wholeBytes)} />}
      </dl>
    </div>
  );
}

function Fact({ label, text }: { label: string; text: string }) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd>{text}</dd>
    </div>
  );
}
