/** Blocks of a document as elements. Links lead to the other text; the rest is text. */

import type { ComponentChildren } from 'preact';
import { writeRoute } from '../shell/route.ts';
import { type Block, type Inline, plainText } from './markdown.ts';

interface DocumentProps {
  readonly blocks: readonly Block[];
  readonly follow: (target: string) => void;
}

/** The plot of the view Plan that shows the same as a figure. */
const IN_PLAN = /^figures\/((?:compressed|tutorial)-)figure-([12])\.svg$/;

export function Document({ blocks, follow }: DocumentProps) {
  // The title of the view stands above, so the document's own is left out.
  return <>{blocks.filter(isShown).map((block, i) => blockOf(block, i, follow))}</>;
}

function isShown(block: Block): boolean {
  return block.kind !== 'heading' || block.level > 1;
}

function blockOf(block: Block, key: number, follow: DocumentProps['follow']): ComponentChildren {
  const inline = (parts: readonly Inline[]) => parts.map((part, i) => inlineOf(part, i, follow));
  switch (block.kind) {
    case 'heading':
      return block.level === 2 ? (
        <h2 key={key} tabIndex={-1}>
          {inline(block.parts)}
        </h2>
      ) : (
        <h3 key={key}>{inline(block.parts)}</h3>
      );
    case 'paragraph':
      return <p key={key}>{inline(block.parts)}</p>;
    case 'list':
      return (
        <ul key={key}>
          {block.items.map((item, i) => (
            <li key={i}>{inline(item)}</li>
          ))}
        </ul>
      );
    case 'code':
      return <pre key={key}>{block.text}</pre>;
    case 'picture':
      return <Picture key={key} text={block.text} target={block.target} />;
    case 'table':
      return <Table key={key} block={block} inline={inline} />;
  }
}

function Picture({ text, target }: { text: string; target: string }) {
  const match = IN_PLAN.exec(target);
  return (
    <figure class="picture">
      <img src={target} alt={text} width="760" height="484" loading="lazy" />
      <figcaption>
        {text}.
        {match === null ? null : (
          <>
            {' '}
            <a href={writeRoute('plan', new URLSearchParams({ figure: match[1] + match[2] }))}>
              Move its points in Plan
            </a>
          </>
        )}
      </figcaption>
    </figure>
  );
}

function Table({
  block: { head, rows, isRight },
  inline,
}: {
  block: Extract<Block, { kind: 'table' }>;
  inline: (parts: readonly Inline[]) => ComponentChildren;
}) {
  const side = (column: number) => (isRight[column] ? 'right' : undefined);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, also by keyboard
    <div class="wide" role="region" tabIndex={0} aria-label={`Table: ${head.map(plainText).join(', ')}`}>
      <table>
        <thead>
          <tr>
            {head.map((cell, i) => (
              <th key={i} scope="col" class={side(i)}>
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j} class={side(j)}>
                  {inline(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlineOf(part: Inline, key: number, follow: DocumentProps['follow']): ComponentChildren {
  const parts = 'parts' in part ? part.parts.map((one, i) => inlineOf(one, i, follow)) : null;
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'code':
      return <code key={key}>{part.text}</code>;
    case 'strong':
      return <strong key={key}>{parts}</strong>;
    case 'emphasis':
      return <em key={key}>{parts}</em>;
    case 'link': {
      const { target } = part;
      // Other documents of the repository are not part of this page.
      if (target !== 'errata.md' && target !== 'papers.md') return <span key={key}>{parts}</span>;
      return (
        <button key={key} type="button" class="link" onClick={() => follow(target)}>
          {parts}
        </button>
      );
    }
  }
}
