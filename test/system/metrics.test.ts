import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { Collector, noPrometheus, noVictoria, promtool, RULES } from '../fixtures/prometheus.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchOnce, freePort } from '../fixtures/traffic.ts'
import { serving } from './serving-daemon.ts'

const DASHBOARD = new URL('../../docs/grafana-dashboard.json', import.meta.url)
/** Metrics that this daemon lacks: Layer 4, a cluster; or lists that are empty while all is well. */
const MAY_BE_EMPTY = /layer4_|cluster_|floating_ip|== 0$|^changes/

/** Metrics of a frontend, and the fields of its live figures. */
const FIGURES = [
  ['fulcrum_layer7_frontend_requests_total', 'totalRequests'],
  ['fulcrum_layer7_frontend_sessions_total', 'totalSessions'],
  ['fulcrum_layer7_frontend_received_bytes_total', 'bytesIn'],
  ['fulcrum_layer7_frontend_sent_bytes_total', 'bytesOut'],
  ['fulcrum_layer7_frontend_session_limit', 'sessionLimit'],
] as const

function text(port: number, accept = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/metrics', headers: { accept } }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (part: string) => (body += part))
      response.on('end', () => resolve(body))
    }).on('error', reject)
  })
}

/** Queries of the dashboard, as Grafana would send them. */
function queries(): readonly string[] {
  const { panels, annotations } = JSON.parse(readFileSync(DASHBOARD, 'utf8'))
  const expressions = [
    ...panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) => targets.map(({ expr }) => expr)),
    ...annotations.list.map(({ expr }: { expr: string }) => expr),
  ]
  return expressions.map((expr) => expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '10s'))
}

t.test('alert rules are valid for Prometheus', { skip: noPrometheus }, async (test) => {
  test.equal(promtool(['check', 'rules', RULES]), '')
})

/** A series of one node, with its value at each minute. */
const series = (name: string, labels: string, values: string) => ({ series: `${name}{${labels}}`, values })
/** The expected result of a query in the dashboard's first row. */
const glance = (title: string, value: number | undefined) => {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8'))
  const expr = panels.find((panel: { title: string }) => panel.title === title).targets[0].expr
  const exp_samples = value === undefined ? [] : [{ labels: '{}', value }]
  return { expr: expr.replaceAll('$instance', '.*'), eval_time: '5m', exp_samples }
}

t.test('results of the dashboard and the alert rules for given series', { skip: noPrometheus }, (test) => {
  const file = join(temporaryFolder(test, 'rules'), 'tests.yml')
  const L4 = 'instance="a",backend_id="l4",backend="l4"'
  const ofNode = (node: string) => [
    series('fulcrum_layer7_backend_up', `instance="${node}",backend_id="x",backend="x"`, '0x5'),
    series('fulcrum_layer7_backend_up', `instance="${node}",backend_id="y",backend="y"`, '1x5'),
    series('fulcrum_layer7_server_up', `instance="${node}",backend_id="x",server_id="s"`, '0x5'),
    series('fulcrum_layer7_server_up', `instance="${node}",backend_id="y",server_id="s"`, '1x5'),
  ]
  const forgotten = (eval_time: string, at: object[]) => ({
    alertname: 'FulcrumChangesForgotten',
    eval_time,
    exp_alerts: at,
  })
  const fires = {
    exp_labels: { severity: 'info' },
    exp_annotations: { summary: 'Changes wait for an apply since yesterday' },
  }
  const tests = [
    {
      input_series: [
        ...['a', 'b', 'c'].flatMap(ofNode),
        series('fulcrum_layer4_backend_servers_up', L4, '0x5'),
        series('fulcrum_layer4_server_up', `${L4},server_id="s"`, '0x5'),
      ],
      // Each node of a cluster reports the same, and Layer 4 counts as well.
      promql_expr_test: [glance('Backends down', 2), glance('Servers down', 2)],
    },
    {
      input_series: [series('fulcrum_layer7_backend_up', 'backend_id="y"', '1x5')],
      promql_expr_test: [glance('Backends down', 0), glance('Servers down', undefined)],
    },
    {
      input_series: [series('fulcrum_pending_changes', '', '2x1500')],
      alert_rule_test: [forgotten('30m', []), forgotten('1441m', [fires])],
    },
  ].map((one) => ({ interval: '1m', ...one }))
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
  test.notMatch(promtool(['test', 'rules', file]), /./)
  test.end()
})

t.test('collected by a real Prometheus', { skip: noPrometheus, timeout: 1_800_000 }, async (test) => {
  const [metricsPort, state] = [await freePort(), temporaryFolder(test, 'daemon')]
  const { daemon, port, served } = await serving(test, state, ['--metrics-listen', `127.0.0.1:${metricsPort}`])
  await served()
  const hostile = String.raw`web "\ 'שלום` + ' \u202e'
  const { id: renamed } = (await daemon.data('GET', '/layer7proxy/frontends'))[0]
  await daemon.data('PUT', `/layer7proxy/frontends/${renamed}`, { name: hostile })
  await daemon.data('PUT', '/services/apply')
  test.equal(promtool(['check', 'metrics'], await text(metricsPort)), '', 'promtool reports nothing')
  test.match(await text(metricsPort, 'application/openmetrics-text'), /\n# EOF\n$/)
  test.equal((await daemon.call('GET', '/metrics')).status, 200)
  const token = await daemon.login()
  const prometheus = await Collector.prometheus(
    test,
    `  - job_name: fulcrum
    static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }]
  - job_name: with-token
    scheme: https
    metrics_path: /api/v1/metrics
    authorization: { credentials: ${token} }
    tls_config: { insecure_skip_verify: true }
    static_configs: [{ targets: ['127.0.0.1:${daemon.port}'] }]
`,
  )
  const up = await until(
    'both targets',
    () => prometheus.api('query?query=up'),
    (answer) => answer?.data?.result?.filter(({ value }: { value: unknown[] }) => value[1] === '1').length === 2,
  )
  test.equal(up.status, 'success')
  for (let request = 0; request < 7; request++) await fetchOnce(port)
  await sameFigures(test, prometheus, daemon, hostile)
  for (const expression of queries()) {
    const found = () => prometheus.query(expression)
    // A rate needs two samples, which a busy machine does not always have.
    if (MAY_BE_EMPTY.test(expression)) await found()
    else await until(expression, found, ({ length }) => length > 0)
  }
  const { data } = await until(
    'the rules',
    () => prometheus.api('rules'),
    (answer) => answer?.data?.groups?.[0]?.rules?.every(({ health }: { health: string }) => health === 'ok'),
  )
  const firing = data.groups[0].rules.filter(({ state: one }: { state: string }) => one === 'firing')
  test.same(
    firing.map(({ name }: { name: string }) => name),
    [],
    'no query is wrong',
  )
})

async function sameFigures(test: Test, prometheus: Collector, daemon: Daemon, name: string): Promise<void> {
  const live = await daemon.data('GET', `/${daemon.node}/layer7proxy/stats`)
  const [frontend] = live.frontends
  const of = (expression: string) => prometheus.query(`${expression}{job="fulcrum"}`)
  const counted = await until(
    'what was counted',
    () => of('fulcrum_layer7_frontend_requests_total'),
    ([sample]) => Number(sample?.value[1]) >= 7,
  )
  test.same(counted[0]?.metric['frontend'], name)
  test.same(counted[0]?.metric['frontend_id'], frontend.id)
  // HAProxy counts an answer a moment after its request, and Prometheus collects both a moment later.
  const both = async () => {
    const after = (await daemon.data('GET', `/${daemon.node}/layer7proxy/stats`)).frontends[0]
    const told = FIGURES.map(async ([metric, field]) => [field, Number((await of(metric))[0]?.value[1])])
    return {
      told: Object.fromEntries(await Promise.all(told)),
      wanted: Object.fromEntries(FIGURES.map(([, field]) => [field, after[field]])),
    }
  }
  const same = await until('equal figures', both, ({ told, wanted }) => isDeepStrictEqual(told, wanted))
  test.ok(same.told['bytesOut'] > 0)
  const { data: entries } = await prometheus.api('query?query=fulcrum_revision')
  test.same(new Set(entries.result.map(({ value }: { value: unknown[] }) => value[1])).size, 1, 'both ways agree')
  await until(
    'two samples of each',
    () => prometheus.query('count_over_time(fulcrum_revision[30s]) > 1'),
    ({ length }) => length === 2,
  )
}

t.test('collected by a real VictoriaMetrics, as text', { skip: noVictoria, timeout: 1_800_000 }, async (test) => {
  const [metricsPort, state] = [await freePort(), temporaryFolder(test, 'daemon')]
  const { daemon } = await serving(test, state, ['--metrics-listen', `127.0.0.1:${metricsPort}`])
  const job = `  - job_name: fulcrum\n    static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }]\n`
  const victoria = await Collector.victoria(test, job)
  const told = await until(
    'a figure',
    () => victoria.api('query?query=fulcrum_layer7_server_state'),
    (answer) => answer?.data?.result?.length > 0,
  )
  const [server] = told.data.result
  test.match(server.metric, { server: 'one', backend: 'web', job: 'fulcrum' })
  test.equal(server.value[1], '2')
  const [{ value } = { value: [] }] = await victoria.query('fulcrum_revision')
  test.equal(Number(value[1]), (await daemon.data('GET', '/services/apply')).revision)
})
