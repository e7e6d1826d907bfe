/** The head of both views of a node: how the connection is, or what to do without one. */

import type { FeedState } from './feed-state.ts';

/** Returns null while the stream is open and the view has something to show. */
export function NodeState({ state }: { state: FeedState }) {
  const { connection, hello } = state;
  if (connection.kind === 'alone') return <Alone />;
  if (connection.kind === 'refused')
    return (
      <div class="notice" role="alert">
        <p>The node refuses: {connection.reason}</p>
        <p>
          Open this page at the address that the node printed at its start, on the same machine or from a
          network of <code>--admin-client</code>. The page tries again by itself.
        </p>
      </div>
    );
  if (connection.kind === 'lost')
    return (
      <div class="notice" role="alert">
        <p>
          The node does not answer since {new Date(connection.since).toLocaleTimeString()}.{' '}
          {hello === null ? '' : 'The numbers below are its last ones.'} Is it still running? The page tries
          again by itself.
        </p>
      </div>
    );
  if (hello === null)
    return (
      <p role="status" class="quiet">
        Waiting for the node…
      </p>
    );
  if (hello.state === 'stopping')
    return (
      <div class="notice" role="status">
        <p>The node is stopping: it finishes its running answers.</p>
      </div>
    );
  return null;
}

function Alone() {
  return (
    <div class="notice">
      <p>
        This copy of the console stands alone, without a node. Start one, and open the address that it prints:
      </p>
      <pre>npm start -- --demo{'\n'}npx bloomery cache</pre>
      <p>Plan, Look inside and Papers need no node.</p>
    </div>
  );
}
