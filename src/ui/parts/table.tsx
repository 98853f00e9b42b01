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
  /** In a long table: its texts are longer than those of other columns. */
  readonly isWide?: boolean
  /** Left out on a narrow screen. */
  readonly isMinor?: boolean
  /** Whether a row's text fits into a column of a wide screen: what need not be clipped is drawn sooner. */
  readonly isShort?: (row: T) => boolean
}

const classOf = <T,>({ isNumber, isMinor, isWide, isShort }: Column<T>, row?: T): string | undefined => {
  const names = [
    ...(isNumber === true ? ['number'] : []),
    ...(isMinor === true ? ['minor'] : []),
    ...(isWide === true ? ['wide'] : []),
    ...(row !== undefined && isShort?.(row) === true ? ['short'] : []),
  ]
  return names.length === 0 ? undefined : names.join(' ')
}

/** A browser takes a long table for none, as each of its rows is laid out by itself: it says what it is. */
const rolesOf =
  (isLong: boolean) =>
  <Role extends string>(role: Role): Role | undefined =>
    isLong ? role : undefined

/** Place of the row that something stands in. */
const placeAround = (target: EventTarget | null): number =>
  Number(target instanceof Element ? target.closest('tr')?.ariaRowIndex : undefined) - 1 - HEADS

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
/** Rows of titles, which come before the others where rows are numbered. */
const HEADS = 1
/** Shorter tables are drawn whole. */
const WHOLE = 120
const AROUND = 8
const STEP = 8

const windowRows = (): number => Math.ceil(innerHeight / ROW_PX) + 2 * AROUND

/** Places of the rows in sight, and of the one with the focus with those beside it, where Tab goes. */
function placesOf([from, to]: readonly [number, number], focused: number, count: number): readonly number[] {
  const beside = focused < 0 ? [] : [focused - 1, focused, focused + 1]
  const inSight = Array.from({ length: to - from }, (_, n) => from + n)
  const all = [...new Set([...beside, ...inSight])]
  return all.filter((at) => at >= 0 && at < count).toSorted((a, b) => a - b)
}

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
  // A user who scrolls on finds the focus where it was, and the focused row goes on taking keys.
  const focused = useRef<T>(undefined)
  const held = focused.current === undefined ? undefined : keyOf(focused.current)
  const focusedAt = held === undefined ? -1 : sorted.findIndex((row) => keyOf(row) === held)
  const places = isLong ? placesOf(place.value, focusedAt, sorted.length) : [...sorted.keys()]
  const shown = places.flatMap((at, n) =>
    sorted.slice(at, at + 1).map((row) => ({ row, at, key: keyOf(row), gap: at - (places[n - 1] ?? -1) - 1 })),
  )
  // By the table itself: a component that shows the table would render all its rows anew with each of them that comes.
  useFigures(hasFigures === true ? shown.map(({ key }) => key) : [])
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
  const role = rolesOf(isLong)
  return (
    <div class="table-box" ref={body}>
      <table
        class={isLong ? 'long' : undefined}
        role={role('table')}
        aria-label={label}
        aria-rowcount={sorted.length + HEADS}
      >
        <thead role={role('rowgroup')}>
          <tr role={role('row')} aria-rowindex={isLong ? HEADS : undefined}>
            {ticked === undefined ? null : (
              <th class="tick" role={role('columnheader')}>
                <input
                  type="checkbox"
                  aria-label={t('All')}
                  checked={sorted.length > 0 && sorted.every((row) => ticked.has(keyOf(row)))}
                  onChange={(event) => tick(sorted.map(keyOf), event.currentTarget.checked)}
                />
              </th>
            )}
            {columns.map((column) => (
              <Head
                key={column.id}
                column={column}
                role={role('columnheader')}
                sort={sort.value}
                onSort={(next) => (sort.value = next)}
              />
            ))}
          </tr>
        </thead>
        <tbody
          role={role('rowgroup')}
          style={isLong ? { height: `${sorted.length * ROW_PX}px` } : {}}
          onFocusIn={({ target }) => (focused.current = sorted[placeAround(target)])}
          onFocusOut={() => (focused.current = undefined)}
        >
          {shown.flatMap(({ row, at, key, gap }) => [
            ...(isLong && gap > 0 ? [<Gap key={`before ${key}`} rows={gap} />] : []),
            <Row
              key={key}
              row={row}
              id={key}
              at={isLong ? at : undefined}
              columns={columns}
              href={hrefOf?.(row)}
              isTicked={ticked?.has(key)}
              onTick={tickOne}
            />,
          ])}
        </tbody>
      </table>
      {isLong ? <p class="hint">{t('{count:row|rows}', { count: sorted.length })}</p> : null}
    </div>
  )
}

interface RowProps<T> {
  readonly row: T
  readonly id: string
  /** Its place in a long table; undefined in one that is drawn whole. */
  readonly at: number | undefined
  readonly columns: readonly Column<T>[]
  readonly href: string | undefined
  /** Undefined where rows are not ticked. */
  readonly isTicked: boolean | undefined
  readonly onTick: (key: string, isOn: boolean) => void
}

/** While somebody scrolls, only rows that come are made: the others have the columns that they had. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate(next: Readonly<RowProps<T>>): boolean {
    const { row, at, columns, isTicked } = this.props
    return next.row !== row || next.at !== at || next.columns !== columns || next.isTicked !== isTicked
  }

  override render({ row, id: key, at, columns, href, isTicked, onTick }: RowProps<T>) {
    const role = rolesOf(at !== undefined)
    return (
      <tr
        class={isTicked === true ? 'ticked' : undefined}
        role={role('row')}
        aria-rowindex={at === undefined ? undefined : at + 1 + HEADS}
      >
        {isTicked === undefined ? null : (
          <td class="tick" role={role('cell')}>
            <input
              type="checkbox"
              aria-label={t('Select')}
              checked={isTicked}
              onChange={(event) => onTick(key, event.currentTarget.checked)}
            />
          </td>
        )}
        {columns.map((column, n) => (
          <td key={column.id} class={classOf(column, row)} role={role('cell')} data-title={column.title}>
            {n === 0 && href !== undefined ? <a href={href}>{column.cell(row)}</a> : column.cell(row)}
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
  role,
  sort: [sorted, direction],
  onSort,
}: {
  readonly column: Column<T>
  readonly role: 'columnheader' | undefined
  readonly sort: readonly [string, 1 | -1]
  readonly onSort: (next: readonly [string, 1 | -1]) => void
}) {
  const { id, title, by } = column
  const isSorted = id === sorted
  const order = isSorted ? (direction === 1 ? 'ascending' : 'descending') : undefined
  return (
    <th class={classOf(column)} role={role} aria-sort={by === undefined ? undefined : (order ?? 'none')}>
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

/**
 * Where rows are that are not drawn. Places in a style of each row would say the same, but a browser works out the
 * styles of all that is in such a row by itself, which takes three times as long.
 */
const Gap = ({ rows }: { readonly rows: number }) => <tr aria-hidden="true" style={{ height: `${rows * ROW_PX}px` }} />
