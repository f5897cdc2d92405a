;; Emacs 29 or newer: put this into init.el.
(define-derived-mode tileir-mode prog-mode "Tile IR"
  (setq-local comment-start "// " comment-end ""))
(modify-syntax-entry ?/ ". 12" tileir-mode-syntax-table)
(modify-syntax-entry ?\n ">" tileir-mode-syntax-table)
(add-to-list 'auto-mode-alist '("\\.\\(tileir\\|cuda_tile\\.mlir\\)\\'" . tileir-mode))
;; A file of another dialect of MLIR keeps its mode.
(defun tileir-text-p ()
  (and buffer-file-name
       (string-match-p "\\.mlir\\'" buffer-file-name)
       (re-search-forward "^[ \t]*\\(cuda_tile\\.\\|entry @\\|global @\\)" (min (point-max) 10000) t)))
(add-to-list 'magic-mode-alist '(tileir-text-p . tileir-mode))
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(tileir-mode "tilery" "lsp")))
(add-hook 'tileir-mode-hook 'eglot-ensure)
