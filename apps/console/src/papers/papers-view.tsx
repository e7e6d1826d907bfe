/**
 * Papers: the tables and figures that `bloomery papers` reproduced, and the errata. The texts are
 * those of docs/papers, which a run of 10,000 trials wrote; the build puts them beside the page.
 */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { registerView, type ViewProps } from '../shell/view-registry.ts';
import { Document } from './document.tsx';
import { type Block, plainText, readMarkdown } from './markdown.ts';

const TEXTS = { tables: 'Tables and figures', errata: 'Errata' } as const;
type TextName = keyof typeof TEXTS;

function PapersView({ parameters, keep }: ViewProps) {
  const [name, setName] = useState<TextName>(parameters.get('text') === 'errata' ? 'errata' : 'tables');
  const [texts, setTexts] = useState<Record<TextName, string> | null>(readTexts);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    if (texts !== null) return;
    globalThis.bloomeryConsole.loadFile('paperstext').then(
      () => setTexts(readTexts()),
      (error: Error) => setProblem(error.message),
    );
  }, [texts]);
  const blocks = useMemo(() => (texts === null ? null : readMarkdown(texts[name])), [texts, name]);
  const show = (next: TextName) => {
    setName(next);
    keep(new URLSearchParams(next === 'errata' ? { text: next } : {}));
  };
  return (
    <div class="papers">
      <fieldset class="figures">
        <legend class="hidden-text">Text</legend>
        {(Object.keys(TEXTS) as TextName[]).map((one) => (
          <button key={one} type="button" aria-pressed={one === name} onClick={() => show(one)}>
            {TEXTS[one]}
          </button>
        ))}
      </fieldset>
      {problem === null ? null : (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {blocks === null ? <p role="status">Loading…</p> : <Text key={name} blocks={blocks} show={show} />}
    </div>
  );
}

function Text({ blocks, show }: { blocks: readonly Block[]; show: (name: TextName) => void }) {
  const article = useRef<HTMLElement>(null);
  const sections = blocks.filter((block) => block.kind === 'heading' && block.level === 2);
  const goTo = (index: number) => {
    const heading = article.current?.querySelectorAll('h2')[index];
    heading?.scrollIntoView();
    heading?.focus({ preventScroll: true });
  };
  return (
    <div class="papers-columns">
      <nav class="contents" aria-label="Sections">
        <ol>
          {sections.map((block, i) => (
            <li key={i}>
              <button type="button" class="link" onClick={() => goTo(i)}>
                {block.kind === 'heading' ? plainText(block.parts) : ''}
              </button>
            </li>
          ))}
        </ol>
      </nav>
      <article ref={article}>
        <Document blocks={blocks} follow={(target) => show(target === 'errata.md' ? 'errata' : 'tables')} />
      </article>
    </div>
  );
}

function readTexts(): Record<TextName, string> | null {
  return (globalThis.bloomeryConsole.parts.get('papers') as Record<TextName, string> | undefined) ?? null;
}

registerView('papers', PapersView);
