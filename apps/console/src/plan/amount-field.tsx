/** A number with a slider. The slider is logarithmic; the field takes any number in its limits. */

import { useState } from 'preact/hooks';

interface AmountFieldProps {
  readonly name: string;
  readonly label: string;
  readonly value: number;
  readonly limits: readonly [number, number];
  readonly isWhole?: boolean;
  readonly isLinear?: boolean;
  /** The field shows the value times this: 100 for per cent. */
  readonly scale?: number;
  readonly change: (value: number) => void;
}

const POSITIONS = 1000;

/** Six digits, without the error of the last bit. */
function written(value: number): string {
  return String(Number(value.toPrecision(6)));
}

export function AmountField(props: AmountFieldProps) {
  const { name, label, value, limits, isWhole = false, isLinear = false, scale = 1, change } = props;
  const [least, most] = limits;
  const [typed, setTyped] = useState<string | null>(null);
  const shown = written(value * scale);
  const parsed = typed === null || typed.trim() === '' ? Number.NaN : Number(typed) / scale;
  const isWrong =
    typed !== null && !(parsed >= least && parsed <= most && (!isWhole || Number.isInteger(parsed)));
  const hint = `${name}-hint`;
  const type = (text: string) => {
    setTyped(text);
    const next = text.trim() === '' ? Number.NaN : Number(text) / scale;
    if (next >= least && next <= most && (!isWhole || Number.isInteger(next))) change(next);
  };
  const share = isLinear
    ? (value - least) / (most - least)
    : Math.log(value / least) / Math.log(most / least);
  const slide = (position: number) => {
    const part = position / POSITIONS;
    const next = isLinear ? least + (most - least) * part : least * (most / least) ** part;
    setTyped(null);
    change(isWhole ? Math.round(Number(next.toPrecision(isLinear ? 3 : 2))) : Number(next.toPrecision(3)));
  };
  return (
    <div class="amount">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        inputMode="decimal"
        autocomplete="off"
        value={typed ?? shown}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? hint : undefined}
        onInput={(event) => type(event.currentTarget.value)}
        onBlur={() => setTyped(null)}
      />
      <input
        type="range"
        aria-label={`${label}, slider`}
        min={0}
        max={POSITIONS}
        value={Math.round(share * POSITIONS)}
        aria-valuetext={shown}
        onInput={(event) => slide(Number(event.currentTarget.value))}
      />
      <span id={hint} class="hint" role={isWrong ? 'alert' : undefined}>
        {isWrong
          ? `Give ${isWhole ? 'a whole number' : 'a number'} from ${written(least * scale)} to ${written(most * scale)}.`
          : ''}
      </span>
    </div>
  );
}
