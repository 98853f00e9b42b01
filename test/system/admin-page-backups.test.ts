import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { axeOfLooks, logIn, noBrowser, openedPage } from '../fixtures/browser.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/** Backups on the page: created, uploaded, restored and deleted. */

const CARD = '.card:has(h2:has-text("Backups"))'
const fileOf = (text: string) => ({ name: 'backup.json', mimeType: 'application/json', buffer: Buffer.from(text) })
const hand = (page: Page, text: string) => page.setInputFiles(`${CARD} input[type=file]`, fileOf(text))

/** Saved as the page saves it. */
async function savedBackup(page: Page): Promise<string> {
  const download = page.waitForEvent('download')
  await page.click(`${CARD} button:has-text("Back up")`)
  return readFileSync(await (await download).path(), 'utf8')
}

t.test('a backup restores what was changed after it', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const names = async () => (await daemon.data('GET', '/ipvsDirector/rips')).map(({ name }: { name: string }) => name)
  const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'as it was', ip: '127.0.0.1', port: 8080 })
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.click('.menu a:has-text("Node")')
  const backup = await savedBackup(page)
  await daemon.data('PUT', `/ipvsDirector/rips/${id}`, { name: 'changed', ip: '127.0.0.1', port: 8080 })
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'came since', ip: '127.0.0.1', port: 8081 })
  await daemon.data('PUT', '/services/apply')

  await hand(page, backup)
  await page.waitForSelector('.toast:has-text("Backup stored as")')
  await page.click(`${CARD} li:has-text("uploaded") button:has-text("Restore")`)
  const stage = page.locator('.dialog-foot button:has-text("Stage")')
  test.ok(await stage.isDisabled(), 'nothing is ticked')
  const offered = await page.locator('.dialog fieldset label').allInnerTexts()
  test.ok(offered.includes('Real servers') && !offered.includes('Fallback server'), 'sections that have records')
  await page.click('.dialog label:has-text("Real servers")')
  await page.waitForSelector('.dialog li:has-text("Nothing goes live yet")')
  test.same(await axeOfLooks(page), [])
  await stage.click()
  await page.waitForSelector('.dialog .change:has-text("as it was")')
  await page.waitForSelector('.dialog .change:has-text("came since")')
  test.same((await names()).toSorted(), ['as it was'], 'the restored change is pending')
  test.same((await daemon.data('GET', '/services/pending')).count, 2)
  await page.click('.dialog-foot button:has-text("Apply all")')
  await until(
    'it is live',
    () => daemon.data('GET', '/services/pending'),
    ({ count }) => count === 0,
  )
  test.same(await names(), ['as it was'])

  const questions: string[] = []
  page.on('dialog', async (question) => {
    questions.push(question.message())
    await question.accept()
  })
  await page.click(`${CARD} li:has-text("uploaded") button[aria-label^="Delete"]`)
  await page.waitForSelector(`${CARD} li:has-text("uploaded")`, { state: 'detached' })
  test.match(questions, [/^Delete .*\.json\? The file is deleted immediately\.$/])
  test.same((await daemon.data('GET', '/backup/list')).uploads, [])
  test.same(faults, [])
})

t.test('wrong files are refused with a sentence', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page)
  await page.click('.menu a:has-text("Node")')
  const backup = await savedBackup(page)
  const wrong = [
    ['', 'The file is empty.'],
    ['no backup', 'is not valid JSON'],
    ['{"a": 1}', 'is not a backup file'],
    [backup.replace('admin@localhost', 'other@localhost'), 'is damaged or was modified'],
  ] as const
  for (const [text, sentence] of wrong) {
    await hand(page, text)
    await page.waitForSelector(`${CARD} .problem:has-text("${sentence}")`)
  }
  test.same((await daemon.data('GET', '/backup/list')).uploads, [])
  await hand(page, backup)
  await page.waitForSelector(`${CARD} li:has-text("uploaded")`)
  test.equal(await page.locator(`${CARD} .problem`).count(), 0, 'a valid file removes the problem')
  test.same(faults, [])
})

t.test('the role Backup can restore a whole backup', { skip: noBrowser }, async (test) => {
  const daemon = await daemonFixture(test)
  const roles: readonly { readonly id: string; readonly name: string }[] = await daemon.data('GET', '/rbac/roles')
  const own = roles.filter(({ name }) => name === 'Backup').map(({ id }) => id)
  const her = { email: 'ann@x.test', password: 'a long password' }
  await daemon.data('POST', '/localUsers/users', {
    ...her,
    firstname: 'Ann',
    lastname: 'O',
    disabled: false,
    roles: own,
  })
  await daemon.data('PUT', '/services/apply')
  const sealed = await daemon.call('GET', '/backup', { headers: { 'x-backup-passphrase': 'a passphrase' } })
  await daemon.data('POST', '/ipvsDirector/rips', { name: 'came since', ip: '127.0.0.1', port: 8081 })
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  await logIn(page, her.password, her.email)
  await page.waitForSelector(CARD)
  await hand(page, sealed.text)
  await page.click(`${CARD} li:has-text("uploaded") button:has-text("Restore")`)
  await page.click('.dialog .choice button:has-text("Everything")')
  await page.click('.dialog-foot button:has-text("Stage")')
  await page.waitForSelector('.dialog .problem:has-text("was created with a passphrase")')
  await page.fill('.dialog input[type=password]', 'a passphrase')
  await page.click('.dialog-foot button:has-text("Stage")')
  await page.waitForSelector('.dialog .good-text:has-text("Every program accepts it.")')
  await page.click('.dialog-foot button:has-text("What would change")')
  await page.waitForSelector('.dialog .change:has-text("came since")')
  await page.click('.dialog-foot button:has-text("Apply all")')
  await until(
    'it is live',
    () => daemon.data('GET', '/ipvsDirector/rips'),
    (all) => all.length === 0,
  )
  test.same(faults, [])
})
