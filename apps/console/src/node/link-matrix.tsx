/**
 * The matrix of who holds whose summary: a row for each holder, a column for each node whose
 * summary it holds. The node asks the others for it, so it is fetched only while it is open.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Fleet } from './node-api.ts';
import { askNode } from './node-feed.ts';

const EVERY_MS = 10_000;
const COLOURS = ['--c2', '--warn', '--bad'];

export function LinkMatrix() {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>Who holds whose summary, in the whole fleet</summary>
      {isOpen ? <OpenMatrix /> : null}
    </details>
  );
}

function OpenMatrix() {
  const [fleet, setFleet] = useState<Fleet | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const load = () => {
      // A tab in the background asks nothing: the node would ask all of its neighbours.
      if (document.hidden) return;
      askNode<Fleet>('fleet').then(
        (loaded) => {
          if (!isCurrent) return;
          setFleet(loaded);
          setProblem(null);
        },
        (error: Error) => isCurrent && setProblem(error.message),
      );
    };
    load();
    document.addEventListener('visibilitychange', load);
    const timer = setInterval(load, EVERY_MS);
    return () => {
      isCurrent = false;
      document.removeEventListener('visibilitychange', load);
      clearInterval(timer);
    };
  }, []);
  if (problem !== null)
    return (
      <p class="notice" role="alert">
        The node gave no picture of the fleet: {problem}
      </p>
    );
  if (fleet === null)
    return (
      <p role="status" class="quiet">
        Asking all nodes…
      </p>
    );
  return <Matrix fleet={fleet} />;
}

function Matrix({ fleet: { nodes, links } }: { fleet: Fleet }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const cell = Math.max(3, Math.min(24, Math.floor(768 / nodes.length)));
  const side = cell * nodes.length;
  const gap = cell < 6 ? 0 : 1;
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context == null || canvas.current === null) return;
    const style = getComputedStyle(canvas.current);
    const colours = COLOURS.map((name) => style.getPropertyValue(name).trim());
    context.fillStyle = style.getPropertyValue('--faint').trim();
    context.fillRect(0, 0, side, side);
    // So that a row in order does not outshine one that is not.
    context.globalAlpha = 0.7;
    for (const [holder, of, state] of links) {
      context.fillStyle = colours[state] ?? colours[2];
      context.fillRect(of * cell, holder * cell, cell - gap, cell - gap);
    }
  }, [links, cell, side, gap]);
  const silent = nodes.filter(({ state }) => state !== 'up').length;
  const text = `${nodes.length} nodes, ${links.length} of ${nodes.length * (nodes.length - 1)} summaries are held. ${silent === 1 ? '1 node' : `${silent} nodes`} told nothing.`;
  return (
    <figure class="matrix">
      <canvas ref={canvas} width={side} height={side} role="img" aria-label={text} />
      <figcaption>
        {text} A row is a holder, a column the node whose summary it holds: green is relied on, orange
        avoided, red down. A row without colour told nothing.
        {nodes.length <= 32 ? ` Order: ${nodes.map(({ id, address }) => id ?? address).join(', ')}.` : ''}
      </figcaption>
    </figure>
  );
}
