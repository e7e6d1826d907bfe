/** Neighbours: the fleet as this node sees it, and who may have a URL. */

import { useEffect, useState } from 'preact/hooks';
import { bytesText, countText, durationText, msText, rateText } from '../page/number-text.ts';
import { registerView } from '../shell/view-registry.ts';
import { bytesPerMinute, type FeedState } from './feed-state.ts';
import { FleetPicture } from './fleet-picture.tsx';
import { LinkMatrix } from './link-matrix.tsx';
import type { OwnSummary, Peer } from './node-api.ts';
import { feed, useStream } from './node-feed.ts';
import { NodeState } from './node-state.tsx';
import { inOrder, moodOf, nameOf, stateText } from './peer-words.ts';
import { WhoSection } from './who-section.tsx';

function NeighboursView() {
  useEffect(useStream, []);
  const state = feed.value;
  return (
    <div class="neighbours">
      <NodeState state={state} />
      {state.hello === null ? null : state.hello.hasFleet || state.peers.size > 0 ? (
        <WithFleet state={state} />
      ) : (
        <NoFleet />
      )}
    </div>
  );
}

function NoFleet() {
  return (
    <div class="notice">
      <p>This node has no neighbours. Nodes that share what they hold ask their origin once for all:</p>
      <pre>bloomery cache --peer http://10.0.0.2:3129 --peer-secret FILE</pre>
      <p>
        <code>docs/guide/fleet.md</code> tells how; <code>npm start -- --demo</code> shows three of them.
      </p>
    </div>
  );
}

function WithFleet({ state }: { state: FeedState }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const peers = inOrder([...state.peers.values()].filter((peer) => moodOf(peer) !== 'self'));
  const now = state.counts.at(-1)?.at ?? state.hello?.at ?? 0;
  const selected = peers.find(({ address }) => address === chosen) ?? null;
  const hasMatrix = state.hello?.features.includes('fleet') ?? false;
  if (peers.length === 0)
    return (
      <p class="notice">
        No neighbour has been found yet. The node looks for those of its settings; a wrong address or secret
        stands in its log.
      </p>
    );
  return (
    <>
      <div class="fleet-columns">
        <FleetPicture
          name={state.hello?.name ?? 'this node'}
          peers={peers}
          chosen={chosen}
          choose={(address) => setChosen(address === chosen ? null : address)}
        />
        <div class="chosen-place">
          {/* Screen readers are told the name alone: the numbers change each second. */}
          <p role="status" class="hidden-text">
            {selected === null ? '' : `The link to ${nameOf(selected)} is shown.`}
          </p>
          {selected === null ? (
            <OwnFacts own={state.own} groups={state} />
          ) : (
            <PeerFacts peer={selected} state={state} now={now} close={() => setChosen(null)} />
          )}
        </div>
      </div>
      <WhoSection urlsShown={state.hello?.urls === 'shown'} />
      {hasMatrix ? <LinkMatrix /> : null}
      <PeerTable peers={peers} state={state} now={now} chosen={chosen} choose={setChosen} />
    </>
  );
}

function OwnFacts({ own, groups: { groups } }: { own: OwnSummary | null; groups: FeedState }) {
  return (
    <section class="numbers" aria-label="This node’s summary">
      <h2>Summary of this node</h2>
      {own === null ? null : (
        <dl>
          <Fact label="Objects in it" text={countText(own.objects)} />
          <Fact label="False positives" text={rateText(own.falsePositiveRate)} />
          <Fact label="As sent, whole" text={own.fullBytes === null ? '–' : bytesText(own.fullBytes)} />
          <Fact label="Last delta" text={own.deltaBytes === null ? '–' : bytesText(own.deltaBytes)} />
          <Fact label="Published so far" text={bytesText(own.bytesPublished)} />
          <Fact
            label="Objects served to others"
            text={`${countText(own.objectsServed)} (${bytesText(own.bytesServed)})`}
          />
          <Fact
            label="Memory for summaries of others"
            text={`${bytesText(own.memoryBytes)} of ${bytesText(own.memoryLimitBytes)}`}
          />
        </dl>
      )}
      {groups === null ? null : (
        <>
          <h3>Groups</h3>
          <ul>
            <li>
              <strong>{groups.group}</strong> (this node’s): {groups.members} members, leader{' '}
              {groups.isLeader ? 'this node' : (groups.leader ?? 'unknown')}
            </li>
            {groups.others.map(({ group, members, up, leader }) => (
              <li key={group}>
                <strong>{group}</strong>: {members} members, {up} up, leader {leader ?? 'unknown'}
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="quiet">Choose a neighbour in the picture or in the table to see its link.</p>
    </section>
  );
}

interface PeerFactsProps {
  readonly peer: Peer;
  readonly state: FeedState;
  readonly now: number;
  readonly close: () => void;
}

function PeerFacts({ peer, state, now, close }: PeerFactsProps) {
  const perMinute = bytesPerMinute(state.traffic.get(peer.address));
  return (
    <section class="numbers" aria-label={`Link to ${nameOf(peer)}`}>
      <h2>{nameOf(peer)}</h2>
      <p class={`mood ${moodOf(peer)}`}>{stateText(peer, now)}</p>
      <dl>
        <Fact label="Address" text={peer.address} />
        {peer.group === null ? null : (
          <Fact label="Group" text={`${peer.group}${peer.isLeader ? ', its leader' : ''}`} />
        )}
        <Fact label="Objects in its summary" text={countText(peer.objects)} />
        <Fact
          label="Summary is"
          text={
            peer.summaryAt === null ? 'not here' : `${durationText(Math.max(0, now - peer.summaryAt))} old`
          }
        />
        <Fact label="In memory" text={bytesText(peer.memoryBytes)} />
        <Fact label="As sent, whole" text={peer.fullBytes === null ? '–' : bytesText(peer.fullBytes)} />
        <Fact label="Last delta" text={peer.deltaBytes === null ? '–' : bytesText(peer.deltaBytes)} />
        <Fact label="Summary bytes per minute" text={perMinute === null ? '–' : bytesText(perMinute)} />
        <Fact label="True hits" text={countText(peer.trueHits)} />
        <Fact label="False hits" text={countText(peer.falseHits)} />
        <Fact label="Failed questions" text={countText(peer.failures)} />
        <Fact
          label="Time to its answer (p95)"
          text={
            peer.latencyMs === null ? '–' : `${msText(peer.latencyMs.median)} (${msText(peer.latencyMs.p95)})`
          }
        />
        <Fact label="Objects came" text={bytesText(peer.objectBytes)} />
      </dl>
      <button type="button" onClick={close}>
        Back to this node
      </button>
    </section>
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

interface PeerTableProps {
  readonly peers: readonly Peer[];
  readonly state: FeedState;
  readonly now: number;
  readonly chosen: string | null;
  readonly choose: (address: string) => void;
}

function PeerTable({ peers, state, now, chosen, choose }: PeerTableProps) {
  const [wanted, setWanted] = useState('');
  const shown = peers.filter((peer) => {
    const text = `${nameOf(peer)} ${peer.address} ${peer.group ?? ''} ${stateText(peer, now)}`;
    return text.toLowerCase().includes(wanted.toLowerCase());
  });
  return (
    <section aria-labelledby="peers-title">
      <h2 id="peers-title">All neighbours</h2>
      <div class="key-row">
        <label for="peer-filter">Only those with</label>
        <input
          id="peer-filter"
          value={wanted}
          autocomplete="off"
          placeholder="name, address, group or state"
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
        <span class="quiet" role="status">
          {shown.length} of {peers.length}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, also by keyboard */}
      <div class="wide peers" role="region" tabIndex={0} aria-label="All neighbours">
        <table>
          <thead>
            <tr>
              {[
                'Neighbour',
                'State',
                'Group',
                'Objects',
                'Age',
                'In memory',
                'Whole',
                'Delta',
                'Per minute',
                'True hits',
                'False hits',
                'Median',
              ].map((head, i) => (
                <th key={head} scope="col" class={i > 2 ? 'right' : undefined}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((peer) => (
              <PeerRow
                key={peer.address}
                peer={peer}
                perMinute={bytesPerMinute(state.traffic.get(peer.address))}
                now={now}
                isChosen={peer.address === chosen}
                choose={choose}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface PeerRowProps {
  readonly peer: Peer;
  readonly perMinute: number | null;
  readonly now: number;
  readonly isChosen: boolean;
  readonly choose: (address: string) => void;
}

function PeerRow({ peer, perMinute, now, isChosen, choose }: PeerRowProps) {
  const amount = (bytes: number | null) => (bytes === null ? '–' : bytesText(bytes));
  return (
    <tr data-peer={peer.address} data-mood={moodOf(peer)}>
      <td>
        <button
          type="button"
          class="link"
          aria-pressed={isChosen}
          onClick={() => {
            choose(peer.address);
            document.querySelector('.fleet')?.scrollIntoView();
          }}
        >
          {nameOf(peer)}
        </button>
      </td>
      <td class={`mood ${moodOf(peer)}`}>{stateText(peer, now)}</td>
      <td>
        {peer.group ?? '–'}
        {peer.isLeader ? ' (leader)' : ''}
      </td>
      <td class="right">{countText(peer.objects)}</td>
      <td class="right">{peer.summaryAt === null ? '–' : durationText(Math.max(0, now - peer.summaryAt))}</td>
      <td class="right">{bytesText(peer.memoryBytes)}</td>
      <td class="right">{amount(peer.fullBytes)}</td>
      <td class="right">{amount(peer.deltaBytes)}</td>
      <td class="right">{amount(perMinute)}</td>
      <td class="right">{countText(peer.trueHits)}</td>
      <td class="right">{countText(peer.falseHits)}</td>
      <td class="right">{peer.latencyMs === null ? '–' : msText(peer.latencyMs.median)}</td>
    </tr>
  );
}

registerView('neighbours', NeighboursView);
