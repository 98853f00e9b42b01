import { effect, signal, untracked } from '@preact/signals'
import { Button } from './basic.tsx'
import { ask } from '../core/api.ts'
import { changed } from '../core/live.ts'
import { rightsChanged } from '../core/rights.ts'
import { t } from '../core/text.ts'

interface Toast {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly text: string
}

const SHOWN_MS = 6_000
const toasts = signal<readonly Toast[]>([])
let next = 1

const remove = (id: number): void => {
  toasts.value = toasts.value.filter((one) => one.id !== id)
}

/** Tells what came of something; what went wrong stays until it is closed. */
export function say(text: string, tone: Toast['tone'] = 'good'): void {
  const id = next++
  toasts.value = [...toasts.value.slice(-3), { id, tone, text }]
  if (tone === 'good') setTimeout(() => remove(id), SHOWN_MS)
}

export const sayProblem = (error: unknown): void => say(error instanceof Error ? error.message : String(error), 'bad')

effect(() => {
  if (rightsChanged.value > 0) untracked(() => say(t('Your rights have changed.')))
})

/** Does it, and tells how it went. */
export async function attempt(work: () => Promise<string | undefined>): Promise<boolean> {
  try {
    const text = await work()
    if (text !== undefined) say(text)
    return true
  } catch (error) {
    sayProblem(error)
    return false
  }
}

/** Asks first; what goes is staged as every change is. Answers whether it does. */
export async function removeRecord(path: string, name: string): Promise<boolean> {
  if (!confirm(t('Delete {name}? It goes with the next apply.', { name }))) return false
  const isDone = await attempt(async () => (await ask('DELETE', path, { body: {} })).message)
  await changed()
  return isDone
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ id, tone, text }) => (
      <div key={id} class={`toast ${tone}`}>
        <span>{text}</span>
        <Button kind="quiet" icon="close" aria-label={t('Close')} onClick={() => remove(id)} />
      </div>
    ))}
  </div>
)
