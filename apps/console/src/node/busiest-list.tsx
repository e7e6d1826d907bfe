/** The busiest objects, with the error of the sketch that counts them. */

import { countText, rateText } from '../page/number-text.ts';
import type { FeedState } from './feed-state.ts';

export function BusiestList({ state: { busiest } }: { state: FeedState }) {
  if (busiest === null) return null;
  const { objects, total, since, threshold, epsilon, delta, more } = busiest;
  return (
    <section aria-labelledby="busiest-title">
      <h2 id="busiest-title">Busiest objects</h2>
      <p class="quiet">
        Of {countText(total)} answers since {new Date(since).toLocaleTimeString()}. Every object with at least{' '}
        {rateText(threshold)} of them is {more > 0 ? 'counted' : 'here'}; one below{' '}
        {rateText(threshold - epsilon)} is so by mistake with a probability of {rateText(delta)} at most.
        {more > 0
          ? ` These are the ${objects.length} busiest; ${countText(more)} more have that share.`
          : null}
      </p>
      {objects.length === 0 ? (
        <p class="quiet">No object has that many.</p>
      ) : (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th scope="col">Object</th>
                <th scope="col" class="right">
                  Answers
                </th>
                <th scope="col" class="right">
                  Share
                </th>
              </tr>
            </thead>
            <tbody>
              {objects.map(({ url, object, count, atLeast }) => (
                <tr key={object}>
                  <td class="what">{url ?? `object ${object}`}</td>
                  <td class="right">
                    {atLeast === count ? countText(count) : `${countText(atLeast)} to ${countText(count)}`}
                  </td>
                  <td class="right">{total === 0 ? '–' : rateText(count / total)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
