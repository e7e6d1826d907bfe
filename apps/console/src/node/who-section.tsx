/** The question who has a URL: hashed positions, and the bits of each neighbour that answer. */

import { useState } from 'preact/hooks';
import { countText, rateText } from '../page/number-text.ts';
import { keepToken, knownToken } from '../shell/admin-token.ts';
import type { Who, WhoPeer } from './node-api.ts';
import { askNode, NodeRefusal } from './node-feed.ts';

const SHOWN = 12;

export function WhoSection({ urlsShown }: { urlsShown: boolean }) {
  const [url, setUrl] = useState('');
  const [who, setWho] = useState<Who | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [wantsToken, setWantsToken] = useState<'GET' | 'POST' | null>(null);
  const ask = async (method: 'GET' | 'POST') => {
    setProblem(null);
    try {
      const path = `who?url=${encodeURIComponent(url.trim())}${method === 'POST' ? '&ask' : ''}`;
      setWho(await askNode<Who>(path, { isPost: method === 'POST' }));
      setWantsToken(null);
    } catch (error) {
      const isToken = error instanceof NodeRefusal && error.status === 401;
      setWantsToken(isToken ? method : null);
      setProblem(isToken ? tokenText(knownToken() !== null) : (error as Error).message);
    }
  };
  return (
    <section aria-labelledby="who-title">
      <h2 id="who-title">Who has this URL?</h2>
      <div class="key-row">
        <label for="who-url">URL</label>
        <input
          id="who-url"
          type="url"
          value={url}
          autocomplete="off"
          spellcheck={false}
          maxLength={8000}
          placeholder="http://origin.example/path"
          onInput={(event) => setUrl(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && url.trim() !== '') void ask('GET');
          }}
        />
        <button type="button" class="primary" disabled={url.trim() === ''} onClick={() => void ask('GET')}>
          Look it up
        </button>
        <button type="button" disabled={who === null} onClick={() => void ask('POST')}>
          Ask them
        </button>
      </div>
      {urlsShown ? null : <p class="quiet">URLs are private here, so looking one up needs the token.</p>}
      {problem === null ? null : (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {wantsToken === null ? null : (
        <TokenField
          taken={(token) => {
            keepToken(token.trim());
            void ask(wantsToken);
          }}
        />
      )}
      <div aria-live="polite">{who === null ? null : <WhoResult who={who} />}</div>
    </section>
  );
}

function tokenText(hasToken: boolean): string {
  return hasToken
    ? 'The node does not take this token. A token that it printed is valid until it stops.'
    : 'This needs the token: the end of the address that the node printed at its start, or the one that its operator set.';
}

function TokenField({ taken }: { taken: (token: string) => void }) {
  const [token, setToken] = useState('');
  return (
    <div class="key-row">
      <label for="token">Token</label>
      <input
        id="token"
        type="password"
        value={token}
        autocomplete="off"
        onInput={(event) => setToken(event.currentTarget.value)}
      />
      <button type="button" disabled={token.trim().length < 16} onClick={() => taken(token)}>
        Use it in this tab
      </button>
    </div>
  );
}

function WhoResult({ who: { url, object, local, isPrivate, owner, isOwner, peers, order } }: { who: Who }) {
  const [isLong, setLong] = useState(false);
  const nameAt = (address: string) => peers.find((peer) => peer.address === address)?.id ?? address;
  const rank = { maybe: 0, unknown: 1, no: 2 };
  const sorted = [...peers].sort((a, b) => rank[a.answer] - rank[b.answer]);
  const maybe = peers.filter(({ answer }) => answer === 'maybe').length;
  const shown = isLong ? sorted : sorted.slice(0, Math.max(maybe, SHOWN));
  return (
    <div data-who={url ?? object}>
      <p>
        {local.isStored
          ? `This node has it${local.isFresh === false ? ', but it is stale' : ''}. `
          : 'This node does not have it. '}
        {isPrivate
          ? 'Neighbours are never asked for it: its query has a secret.'
          : `${maybe} of ${peers.length} neighbours may have it. `}
        {order.length === 0 ? '' : `A request would ask ${order.map(nameAt).join(', then ')}. `}
        {owner === null
          ? ''
          : `Its fetches from the origin are coordinated by ${isOwner ? 'this node' : nameAt(owner)}.`}
      </p>
      <ul class="who">
        {shown.map((peer) => (
          <WhoRow key={peer.address} peer={peer} />
        ))}
      </ul>
      {sorted.length > shown.length ? (
        <button type="button" onClick={() => setLong(true)}>
          Show the other {sorted.length - shown.length}
        </button>
      ) : null}
    </div>
  );
}

const ANSWERS = { maybe: 'maybe', no: 'certainly not', unknown: 'unknown' };
const TRUTHS = { has: 'It has it.', 'has-not': 'It does not have it.', failed: 'It did not answer.' };

function WhoRow({ peer }: { peer: WhoPeer }) {
  const { answer, truth, why, positions, universe, falsePositiveRate } = peer;
  const isFalse = answer === 'maybe' && truth === 'has-not';
  return (
    <li data-answer={answer} data-truth={truth}>
      <span>
        <strong>{peer.id ?? peer.address}</strong>: {ANSWERS[answer]}
        {why === null ? '' : ` (${why})`}. {truth === null ? '' : `${TRUTHS[truth]} `}
        {isFalse ? 'That was a false positive. ' : ''}
        {falsePositiveRate === null || answer === 'unknown'
          ? ''
          : `Its summary is wrong about ${rateText(falsePositiveRate)} of other URLs.`}
      </span>
      {positions.map(({ position, isSet, window }) => (
        <span key={position} class="positions">
          <span class="quiet">
            position {countText(position)} of {universe === null ? '?' : countText(universe)}:{' '}
            {isSet ? 'set' : 'not set'}
          </span>
          <Bits window={window} position={position} />
        </span>
      ))}
    </li>
  );
}

/** The bits around a position, which is outlined. */
function Bits({
  window: { from, bits },
  position,
}: {
  window: { from: number; bits: string };
  position: number;
}) {
  return (
    <svg class="bit-window" viewBox={`0 0 ${bits.length * 8} 10`} aria-hidden="true">
      {[...bits].map((bit, i) => (
        <rect
          key={i}
          class={`${bit === '1' ? 'one' : 'zero'}${from + i === position ? ' here' : ''}`}
          x={i * 8 + 1}
          y="1.5"
          width="6"
          height="7"
        />
      ))}
    </svg>
  );
}
