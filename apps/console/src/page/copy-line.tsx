/** A line of code or shell with a button that copies it. */

import { useRef, useState } from 'preact/hooks';

export function CopyLine({ label, line }: { label: string; line: string }) {
  const [state, setState] = useState('');
  const code = useRef<HTMLElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line);
      setState('Copied');
    } catch {
      // Without the permission, or over http from afar, one key copies what is selected.
      if (code.current !== null) getSelection()?.selectAllChildren(code.current);
      setState('Not allowed here. The line is selected: copy it with Ctrl+C.');
    }
  };
  return (
    <div class="copy-line">
      <span class="copy-label">{label}</span>
      <pre>
        <code ref={code}>{line}</code>
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
