import { useSignal } from '@preact/signals'
import { Component, type ComponentChildren } from 'preact'
import { useCallback, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { comparisonFor, sortable } from '../core/formats.ts'
import { t } from '../core/text.ts'
import { useFigures } from '../core/wanted.ts'

export interface Column<T> {
  readonly id: string
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  /** What it is sorted by; a column without one is not. */
  readonly by?: (row: T) => string | number
  readonly isNumber?: boolean
  /** What a table begins with: the highest first. */
  readonly isDescending?: boolean
  /** Left out on a narrow screen. */
  readonly isMinor?: boolean
}

const classOf = <T,>({ isNumber, isMinor }: Column<T>): string | undefined =>
  isNumber === true ? (isMinor === true ? 'number minor' : 'number') : isMinor === true ? 'minor' : undefined

interface TableProps<T> {
  readonly label: string
  readonly rows: readonly T[]
  readonly columns: readonly Column<T>[]
  readonly keyOf: (row: T) => string
  readonly hrefOf?: (row: T) => string
  /** Keys of the rows that are ticked, where rows may be. */
  readonly ticked?: ReadonlySet<string>
  readonly onTick?: (keys: ReadonlySet<string>) => void
  /** Keys are ids, and cells have figures: those of the rows that are drawn are followed. */
  readonly hasFigures?: boolean
}

const ROW_PX = 40
/** Shorter tables are drawn whole. */
const WHOLE = 120
const AROUND = 8
const STEP = 8

const windowRows = (): number => Math.ceil(innerHeight / ROW_PX) + 2 * AROUND

/** A table that sorts, ticks, and draws of thousands of rows those that can be seen. */
export function Table<T>({ label, rows, columns, keyOf, hrefOf, ticked, onTick, hasFigures }: TableProps<T>) {
  const sort = useSignal<readonly [string, 1 | -1]>([columns[0]?.id ?? '', columns[0]?.isDescending === true ? -1 : 1])
  const place = useSignal<readonly [number, number]>([0, windowRows()])
  const body = useRef<HTMLDivElement>(null)
  const [by, direction] = sort.value
  const sorted = useMemo(
    () => sortedBy(rows, columns.find(({ id }) => id === by)?.by, direction),
    [rows, by, direction],
  )
  useLayoutEffect(() => {
    const look = () => {
      const box = body.current
      if (box === null || sorted.length <= WHOLE) return
      const above = Math.max(0, -box.getBoundingClientRect().top)
      // Rows are drawn anew when half of those around are used up, and not with each step.
      const first = Math.max(0, Math.floor(above / ROW_PX / STEP) * STEP - AROUND)
      const [before] = place.value
      if (first !== before) place.value = [first, first + windowRows()]
    }
    look()
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [sorted.length])
  const isLong = sorted.length > WHOLE
  const [from, to] = isLong ? place.value : [0, sorted.length]
  const shown = sorted.slice(from, to)
  // By the table itself: whoever shows it would make all its rows anew with each of them that comes.
  useFigures(hasFigures === true ? shown.map(keyOf) : [])
  const tick = (keys: readonly string[], isOn: boolean) => {
    const next = new Set(ticked)
    for (const key of keys) {
      if (isOn) next.add(key)
      else next.delete(key)
    }
    onTick?.(next)
  }
  // The rows keep the function that they were made with, so it looks at what is ticked when it is called.
  const now = useRef(tick)
  now.current = tick
  const tickOne = useCallback((key: string, isOn: boolean) => now.current([key], isOn), [])
  return (
    <div class="table-box" ref={body}>
      <table class={isLong ? 'long' : undefined} aria-label={label} aria-rowcount={sorted.length}>
        <thead>
          <tr>
            {ticked === undefined ? null : (
              <th class="tick">
                <input
                  type="checkbox"
                  aria-label={t('All')}
                  checked={sorted.length > 0 && sorted.every((row) => ticked.has(keyOf(row)))}
                  onChange={(event) => tick(sorted.map(keyOf), event.currentTarget.checked)}
                />
              </th>
            )}
            {columns.map((column) => (
              <Head key={column.id} column={column} sort={sort.value} onSort={(next) => (sort.value = next)} />
            ))}
          </tr>
        </thead>
        <tbody>
          {from > 0 ? <Spacer rows={from} columns={columns.length + 1} /> : null}
          {shown.map((row) => {
            const key = keyOf(row)
            return (
              <Row
                key={key}
                row={row}
                id={key}
                columns={columns}
                href={hrefOf?.(row)}
                isTicked={ticked?.has(key)}
                onTick={tickOne}
              />
            )
          })}
          {to < sorted.length ? <Spacer rows={sorted.length - to} columns={columns.length + 1} /> : null}
        </tbody>
      </table>
      {isLong ? <p class="hint">{t('{count:row|rows}', { count: sorted.length })}</p> : null}
    </div>
  )
}

interface RowProps<T> {
  readonly row: T
  readonly id: string
  readonly columns: readonly Column<T>[]
  readonly href: string | undefined
  /** Undefined where rows are not ticked. */
  readonly isTicked: boolean | undefined
  readonly onTick: (key: string, isOn: boolean) => void
}

/** While somebody scrolls, only rows that come are made: the others have the columns that they had. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate(next: Readonly<RowProps<T>>): boolean {
    const { row, columns, isTicked } = this.props
    return next.row !== row || next.columns !== columns || next.isTicked !== isTicked
  }

  override render({ row, id: key, columns, href, isTicked, onTick }: RowProps<T>) {
    return (
      <tr class={isTicked === true ? 'ticked' : undefined}>
        {isTicked === undefined ? null : (
          <td class="tick">
            <input
              type="checkbox"
              aria-label={t('Select')}
              checked={isTicked}
              onChange={(event) => onTick(key, event.currentTarget.checked)}
            />
          </td>
        )}
        {columns.map((column, at) => (
          <td key={column.id} class={classOf(column)} data-title={column.title}>
            {at === 0 && href !== undefined ? <a href={href}>{column.cell(row)}</a> : column.cell(row)}
          </td>
        ))}
      </tr>
    )
  }
}

function sortedBy<T>(rows: readonly T[], by: Column<T>['by'], direction: 1 | -1): readonly T[] {
  if (by === undefined) return rows
  const keyed = rows.map((row) => {
    const key = by(row)
    return { key: typeof key === 'number' ? key : sortable(key), row }
  })
  const compare = comparisonFor(keyed.map(({ key }) => String(key)))
  return keyed
    .toSorted(
      ({ key: a }, { key: b }) =>
        direction * (typeof a === 'number' && typeof b === 'number' ? a - b : compare(String(a), String(b))),
    )
    .map(({ row }) => row)
}

function Head<T>({
  column,
  sort: [sorted, direction],
  onSort,
}: {
  readonly column: Column<T>
  readonly sort: readonly [string, 1 | -1]
  readonly onSort: (next: readonly [string, 1 | -1]) => void
}) {
  const { id, title, by } = column
  const isSorted = id === sorted
  const order = isSorted ? (direction === 1 ? 'ascending' : 'descending') : undefined
  return (
    <th class={classOf(column)} aria-sort={by === undefined ? undefined : (order ?? 'none')}>
      {by === undefined ? (
        title
      ) : (
        <button type="button" onClick={() => onSort([id, isSorted && direction === 1 ? -1 : 1])}>
          {title}
          <span class="order" aria-hidden="true">
            {isSorted ? (direction === 1 ? '▲' : '▼') : ''}
          </span>
        </button>
      )}
    </th>
  )
}

const Spacer = ({ rows, columns }: { readonly rows: number; readonly columns: number }) => (
  <tr aria-hidden="true">
    <td colSpan={columns} style={{ height: `${rows * ROW_PX}px`, padding: 0 }} />
  </tr>
)
