/** A line of code or shell with a button that copies it. */

import { useState } from 'preact/hooks';

export function CopyLine({ label, line }: { label: string; line: string }) {
  const [state, setState] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line);
      setState('Copied');
    } catch {
      // From file:, or without the permission: the text is selected, so that one key copies it.
      setState('Select and copy it by hand');
    }
  };
  return (
    <div class="copy-line">
      <span class="copy-label">{label}</span>
      <pre>
        <code>{line}</code>
      </pre>
      <button type="button" onClick={copy} aria-label={`Copy: ${label}`}>
        Copy
      </button>
      <span role="status" class="copy-state">
        {state}
      </span>
    </div>
  );
}
