/** The last answers: from where, and why; one click tells the whole story of a request. */

import { useState } from 'preact/hooks';
import { bytesText, countText } from '../page/number-text.ts';
import { sourceText, storyOf } from './answer-story.ts';
import type { FeedState } from './feed-state.ts';
import type { Answer } from './node-api.ts';

const SHOWN = 15;

export function AnswerList({ state: { answers, hello, skipped } }: { state: FeedState }) {
  const [held, setHeld] = useState<readonly Answer[] | null>(null);
  const shown = (held ?? answers).slice(-SHOWN).reverse();
  return (
    <section aria-labelledby="answers-title">
      <h2 id="answers-title">Just served</h2>
      {hello?.urls === 'hidden' ? <HiddenUrls /> : null}
      <p class="buttons">
        <button
          type="button"
          aria-pressed={held !== null}
          onClick={() => setHeld(held === null ? answers : null)}
        >
          {held === null ? 'Hold the list' : 'Let it run'}
        </button>
        <span class="quiet">
          {skipped > 0 ? `${countText(skipped)} more were too quick to be listed.` : ''}
        </span>
      </p>
      {shown.length === 0 ? (
        <p class="quiet">Nothing yet. Requests through this node appear here as they are answered.</p>
      ) : (
        <ol class="answers">
          {shown.map((answer) => (
            <AnswerRow
              key={answer.id}
              answer={answer}
              // Newer answers would push the story out while it is read.
              opened={() => setHeld(held ?? answers)}
            />
          ))}
        </ol>
      )}
    </section>
  );
}

function HiddenUrls() {
  return (
    <p class="quiet">
      URLs are not shown, because this node writes no access log. <code>--access-log</code> or{' '}
      <code>--console-urls</code> shows them.
    </p>
  );
}

function AnswerRow({ answer, opened }: { answer: Answer; opened: () => void }) {
  const { at, url, object, status, outcome } = answer;
  return (
    <li data-outcome={outcome}>
      <details
        onToggle={(event) => {
          if ((event.currentTarget as HTMLDetailsElement).open) opened();
        }}
      >
        <summary>
          <time dateTime={new Date(at).toISOString()}>{new Date(at).toLocaleTimeString()}</time>
          <span class={`tag ${outcome}`}>{outcome}</span>
          <span class="what">{url ?? `object ${object ?? 'without a key'}`}</span>
          <span class="quiet">
            {status}, {bytesText(answer.bytesSent)}, {sourceText(answer)}
          </span>
        </summary>
        <ul class="story">
          {storyOf(answer).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
          {answer.cacheStatus === null ? null : (
            <li>
              Cache-Status: <code>{answer.cacheStatus}</code>
            </li>
          )}
        </ul>
      </details>
    </li>
  );
}
