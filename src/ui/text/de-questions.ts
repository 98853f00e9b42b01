/** Questions before something is lost or interrupted. */
export const germanOfQuestions: Readonly<Record<string, string>> = {
  'Delete {name}? It is deleted by the next apply.': '{name} löschen? Es verschwindet beim nächsten Anwenden.',
  'Delete {name}? Programs that use it are refused immediately.':
    '{name} löschen? Programme, die es verwenden, werden sofort abgewiesen.',
  'Discard {count:change|changes}, {others} of other people?':
    '{count:Änderung|Änderungen} verwerfen, davon {others} von anderen?',
  'Restart {name}? Its current work is interrupted.': '{name} neu starten? Laufende Arbeit wird unterbrochen.',
  'End the silence of {name}? Alerts that are still firing will be sent.':
    'Stummschaltung von {name} beenden? Alarme, die noch aktiv sind, werden gemeldet.',
  'This is shown only once. Close it?': 'Das wird nur einmal gezeigt. Schließen?',
  'Your changes are not saved. Discard them?': 'Ihre Änderungen sind nicht gespeichert. Verwerfen?',
}
