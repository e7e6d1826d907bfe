/**
 * The neighbours as a picture: this node in the middle, a line to each neighbour whose summary it
 * holds. Up to 16 have their names in it; more are dots on one to three rings, and the chosen one
 * has its name. The table beside it has the same for readers who do not see it.
 */

import type { Peer } from './node-api.ts';
import { moodOf, nameOf, type PeerMood } from './peer-words.ts';

interface FleetPictureProps {
  readonly name: string;
  /** In order. */
  readonly peers: readonly Peer[];
  readonly chosen: string | null;
  readonly choose: (address: string) => void;
}

const WIDTH = 640;
const HEIGHT = 460;
const NAMED = 16;
/** Neighbours that are drawn. The table has all of them. */
const DRAWN = 256;
const ON_A_RING = 96;

interface Placed {
  readonly peer: Peer;
  readonly mood: PeerMood;
  readonly x: number;
  readonly y: number;
}

function placesOf(peers: readonly Peer[]): Placed[] {
  const rings = Math.max(1, Math.ceil(peers.length / ON_A_RING));
  return peers.map((peer, i) => {
    // Neighbours in order stand next to each other, so that a group is a sector of all rings.
    const ring = i % rings;
    const angle = (2 * Math.PI * (i - ring / rings)) / peers.length - Math.PI / 2;
    const share = rings === 1 ? 1 : 0.72 + (0.28 * ring) / (rings - 1);
    const isNamed = peers.length <= NAMED;
    return {
      peer,
      mood: moodOf(peer),
      x: WIDTH / 2 + share * (isNamed ? 200 : 260) * Math.cos(angle),
      y: HEIGHT / 2 + share * (isNamed ? 165 : 195) * Math.sin(angle),
    };
  });
}

export function FleetPicture({ name, peers, chosen, choose }: FleetPictureProps) {
  const places = placesOf(peers.slice(0, DRAWN));
  const isNamed = peers.length <= NAMED;
  const count = (mood: PeerMood) => peers.filter((peer) => moodOf(peer) === mood).length;
  const text = `${name} and ${peers.length} neighbours: ${count('up')} up, ${count('avoided')} avoided, ${count('down')} down.`;
  const most = Math.max(1, ...peers.map(({ trueHits }) => trueHits));
  return (
    <figure class="fleet">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={text}>
        {places.map(({ peer, mood, x, y }) => (
          <line
            key={peer.address}
            class={`link ${mood}${peer.address === chosen ? ' chosen' : ''}`}
            x1={WIDTH / 2}
            y1={HEIGHT / 2}
            x2={x}
            y2={y}
            stroke-width={0.75 + (isNamed ? 4 : 1.5) * Math.sqrt(peer.trueHits / most)}
          />
        ))}
        <circle class="own" cx={WIDTH / 2} cy={HEIGHT / 2} r="26" />
        <text class="own-name" x={WIDTH / 2} y={HEIGHT / 2 + 44} text-anchor="middle">
          {short(name)}
        </text>
        {chosenLast(places, chosen).map((place) => (
          <PeerDot
            key={place.peer.address}
            place={place}
            radius={isNamed ? 13 : peers.length > 100 ? 5 : 7}
            hasName={isNamed || place.peer.address === chosen}
            isChosen={place.peer.address === chosen}
            choose={choose}
          />
        ))}
      </svg>
      <figcaption>
        {text} {peers.length > DRAWN ? `The first ${DRAWN} are drawn. ` : null}The more objects came from a
        neighbour, the thicker its line.
        <span class="keys">
          <span class="key up">● up</span> <span class="key avoided">◆ avoided</span>{' '}
          <span class="key down">✕ down</span> <span class="key">◎ leader of a group</span>
        </span>
      </figcaption>
    </figure>
  );
}

/** The chosen neighbour is drawn above the others. */
function chosenLast(places: readonly Placed[], chosen: string | null): readonly Placed[] {
  const isChosen = ({ peer }: Placed) => peer.address === chosen;
  return [...places.filter((place) => !isChosen(place)), ...places.filter(isChosen)];
}

interface PeerDotProps {
  readonly place: Placed;
  readonly radius: number;
  readonly hasName: boolean;
  readonly isChosen: boolean;
  readonly choose: (address: string) => void;
}

/** The state is a shape as well as a colour. */
function PeerDot({ place: { peer, mood, x, y }, radius, hasName, isChosen, choose }: PeerDotProps) {
  const r = radius;
  const shape =
    mood === 'down' ? (
      <path d={`M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`} />
    ) : mood === 'avoided' ? (
      <path d={`M${x} ${y - r * 1.2}L${x + r * 1.2} ${y}L${x} ${y + r * 1.2}L${x - r * 1.2} ${y}Z`} />
    ) : (
      <circle cx={x} cy={y} r={r} />
    );
  const isAbove = y < HEIGHT / 2;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the table has a button for each neighbour
    <g class={`peer ${mood}${isChosen ? ' chosen' : ''}`} onClick={() => choose(peer.address)}>
      {peer.isLeader ? <circle class="leader" cx={x} cy={y} r={r + 4} /> : null}
      {shape}
      {hasName ? (
        <text
          x={Math.max(60, Math.min(WIDTH - 60, x))}
          y={isAbove ? y - r - 8 : y + r + 18}
          text-anchor="middle"
        >
          {short(nameOf(peer))}
        </text>
      ) : null}
      <title>{nameOf(peer)}</title>
    </g>
  );
}

function short(name: string): string {
  return name.length > 22 ? `${name.slice(0, 10)}…${name.slice(-10)}` : name;
}
