export const THEME_KEY = "parkade.theme";

/**
 * Runs in <head> before the first paint, so that no page flashes in the other theme. Without a stored theme the
 * attribute is absent and the system decides.
 */
export const THEME_SCRIPT = `try{var t=localStorage.getItem(${JSON.stringify(THEME_KEY)});if(t==="light"||t==="dark")document.documentElement.dataset.theme=t}catch(e){}`;
