/** The frame of the page: name, navigation, and the view that the address names. */

import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { takeTokenFromAddress } from './admin-token.ts';
import { loadView } from './load-file.ts';
import { firstRoute, isServedByNode, type Route, type ViewName, writeRoute } from './route.ts';

const TITLES: Record<ViewName, string> = {
  now: 'Now',
  neighbours: 'Neighbours',
  plan: 'Plan',
  inside: 'Look inside',
  papers: 'Papers',
};

/**
 * Chromium ignores `replaceState` after 200 calls within 30 s, so dragging writes the address only
 * when it pauses.
 */
const KEEP_MS = 250;

export function Frame() {
  const served = isServedByNode(location);
  const [route, setRoute] = useState<Route>(() => {
    takeTokenFromAddress();
    return firstRoute(location);
  });
  const heading = useRef<HTMLHeadingElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  useEffect(() => {
    const follow = () => {
      clearTimeout(timer.current);
      takeTokenFromAddress();
      setRoute(firstRoute(location));
      heading.current?.focus();
    };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  useEffect(() => {
    document.title = `${TITLES[route.view]} · Bloomery console`;
  }, [route.view]);

  const keep = (parameters: URLSearchParams) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => history.replaceState(null, '', writeRoute(route.view, parameters)),
      KEEP_MS,
    );
  };
  return (
    <>
      <header class="frame">
        <button type="button" class="skip" onClick={() => heading.current?.focus()}>
          Skip to the view
        </button>
        <span class="brand">
          <img src="icon.svg" alt="" width="22" height="22" /> Bloomery
        </span>
        <nav aria-label="Views">
          {(Object.keys(TITLES) as ViewName[]).map((name) => (
            <a key={name} href={writeRoute(name)} aria-current={name === route.view ? 'page' : undefined}>
              {TITLES[name]}
            </a>
          ))}
        </nav>
      </header>
      <main id="view" data-view={route.view}>
        <h1 ref={heading} tabIndex={-1}>
          {TITLES[route.view]}
        </h1>
        <LoadedView key={`${route.view}?${route.parameters}`} route={route} keep={keep} />
      </main>
      <footer class="frame">
        {served
          ? 'Served by the node. Nothing is loaded from elsewhere.'
          : 'This copy stands alone: nothing is loaded or sent.'}
      </footer>
    </>
  );
}

function LoadedView({ route, keep }: { route: Route; keep: (parameters: URLSearchParams) => void }) {
  const { view, parameters } = route;
  const { views } = globalThis.bloomeryConsole;
  const [problem, setProblem] = useState<string | null>(null);
  const [, setLoaded] = useState(views.has(view));
  const [failure] = useErrorBoundary();
  useEffect(() => {
    // It may have come since the first drawing, which was without it.
    if (views.has(view)) {
      setLoaded(true);
      return;
    }
    loadView(view).then(
      () => setLoaded(true),
      (error: Error) => setProblem(error.message),
    );
  }, [view, views]);
  if (failure)
    return (
      <div class="notice" role="alert">
        <p>This view has stopped: {String((failure as Error).message ?? failure)}</p>
        <p>
          <a href={writeRoute(view)}>Open it afresh</a>, without the settings in its address.
        </p>
      </div>
    );
  const View = views.get(view);
  if (View !== undefined) return <View parameters={parameters} keep={keep} />;
  if (problem === null)
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  return (
    <div class="notice" role="alert">
      <p>{problem}. The files of the console lie in one folder; is the folder complete?</p>
      <button type="button" onClick={() => location.reload()}>
        Load the page again
      </button>
    </div>
  );
}
